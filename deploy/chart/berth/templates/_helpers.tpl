{{- define "berth.labels" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/part-of: berth
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "berth.webhookLabels" -}}
app.kubernetes.io/name: berth-webhook
app.kubernetes.io/part-of: berth
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "berth.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{/* Namespaces whose work the admission policies and the webhook look at. */}}
{{- define "berth.namespaceSelector" -}}
{{- $own := dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" (list "kube-system" .root.Release.Namespace) -}}
namespaceSelector:
{{- with .selector.matchLabels }}
  matchLabels: {{- toYaml . | nindent 4 }}
{{- end }}
  matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, {{ .root.Release.Namespace }}]}
{{- range .selector.matchExpressions }}
    - {{ toJson . }}
{{- end }}
{{- end -}}

{{/* The names that Berth answers to, as CEL writes them: 'a', 'b'. */}}
{{- define "berth.celNames" -}}
{{- range $i, $name := .Values.scheduler.names }}{{ if $i }}, {{ end }}'{{ $name }}'{{ end -}}
{{- end -}}

{{/*
The certificate of a Service, made by the chart once: kept in its Secret, from where an upgrade takes it. The result is a dict with ca, crt and
key in base64. Rendering twice in one run gives one certificate: it is kept in .Values beside the others.
*/}}
{{- define "berth.madeCertificate" -}}
{{- $root := .root -}}
{{- $made := $root.Values.made | default dict -}}
{{- if not (hasKey $made .service) -}}
  {{- $secret := lookup "v1" "Secret" $root.Release.Namespace (printf "%s-tls" .service) -}}
  {{- if and $secret $secret.data (hasKey $secret.data "ca.crt") -}}
    {{- $_ := set $made .service (dict "ca" (index $secret.data "ca.crt") "crt" (index $secret.data "tls.crt") "key" (index $secret.data "tls.key")) -}}
  {{- else -}}
    {{- $host := printf "%s.%s.svc" .service $root.Release.Namespace -}}
    {{- $ca := genCA (printf "%s-authority" .service) 3650 -}}
    {{- $pair := genSignedCert $host nil (list $host (printf "%s.cluster.local" $host)) 3650 $ca -}}
    {{- $_ := set $made .service (dict "ca" (b64enc $ca.Cert) "crt" (b64enc $pair.Cert) "key" (b64enc $pair.Key)) -}}
  {{- end -}}
  {{- $_ := set $root.Values "made" $made -}}
{{- end -}}
{{- end -}}

{{/* caBundle of a Service's certificate, as a line; nothing with cert-manager, which writes it itself. */}}
{{- define "berth.caBundle" -}}
{{- if eq .root.Values.certificates.source "helm" -}}
{{- include "berth.madeCertificate" . -}}
caBundle: {{ (index .root.Values.made .service).ca }}
{{- else if eq .root.Values.certificates.source "secret" -}}
caBundle: {{ required (printf "%s.caBundle is empty: with certificates.source=secret it is the certificate of your authority: base64 -w0 ca.crt" .part) (index .root.Values .part).caBundle }}
{{- end -}}
{{- end -}}

{{/* cert-manager's annotation for an object with a caBundle. */}}
{{- define "berth.injectCa" -}}
{{- if eq .root.Values.certificates.source "cert-manager" }}
  annotations:
    # cert-manager writes caBundle, and renews it. Without cert-manager the annotation does nothing.
    cert-manager.io/inject-ca-from: {{ .root.Release.Namespace }}/{{ .service }}
{{- end }}
{{- end -}}

{{/* The objects that bring a Service's certificate. */}}
{{- define "berth.certificate" -}}
{{- $ns := .root.Release.Namespace -}}
{{- $labels := include .labels .root -}}
{{- if eq .root.Values.certificates.source "helm" -}}
{{- include "berth.madeCertificate" . -}}
{{- $made := index .root.Values.made .service -}}
apiVersion: v1
kind: Secret
metadata:
  name: {{ .service }}-tls
  namespace: {{ $ns }}
  labels: {{- $labels | nindent 4 }}
type: kubernetes.io/tls
data:
  ca.crt: {{ $made.ca }}
  tls.crt: {{ $made.crt }}
  tls.key: {{ $made.key }}
{{- else if eq .root.Values.certificates.source "cert-manager" -}}
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .service }}-self-signed
  namespace: {{ $ns }}
  labels: {{- $labels | nindent 4 }}
spec:
  selfSigned: {}
---
# Its Secret is the authority's key: nothing mounts it.
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .service }}-authority
  namespace: {{ $ns }}
  labels: {{- $labels | nindent 4 }}
spec:
  isCA: true
  commonName: {{ .service }}-authority
  secretName: {{ .service }}-authority
  duration: 87600h
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: {{ .service }}-self-signed}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .service }}
  namespace: {{ $ns }}
  labels: {{- $labels | nindent 4 }}
spec:
  ca: {secretName: {{ .service }}-authority}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .service }}
  namespace: {{ $ns }}
  labels: {{- $labels | nindent 4 }}
spec:
  commonName: {{ .service }}.{{ $ns }}.svc
  dnsNames: [{{ .service }}.{{ $ns }}.svc, {{ .service }}.{{ $ns }}.svc.cluster.local]
  secretName: {{ .service }}-tls
  duration: 2160h
  renewBefore: 720h
  usages: [server auth]
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  issuerRef: {name: {{ .service }}}
{{- end -}}
{{- end -}}
