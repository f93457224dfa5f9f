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

{{/* Kinds of objects that make pods by a declaration: Berth's own, and those of the values. As JSON, below `kinds`. */}}
{{- define "berth.kinds" -}}
{{- $own := .Files.Get "files/kinds.yaml" | fromYamlArray -}}
{{- dict "kinds" (concat $own .Values.kinds.more) | toJson -}}
{{- end -}}

{{/* Their pod templates, as CEL lists that are added up: fields that an object lacks are left out. */}}
{{- define "berth.celTemplates" -}}
{{- $lists := list -}}
{{- range (include "berth.kinds" . | fromJson).kinds -}}
{{- range .pods -}}
{{- $lists = append $lists (printf "[?object.?%s].map(p, dyn({'metadata': p, 'spec': p}))" (replace "." ".?" .)) -}}
{{- end -}}
{{- range .templates -}}
{{- $parts := splitList "[]." . -}}
{{- $first := printf "object.?%s" (first $parts | replace "." ".?") -}}
{{- if eq (len $parts) 1 -}}
{{- $lists = append $lists (printf "[?%s]" $first) -}}
{{- else -}}
{{- $lists = append $lists (printf "%s.orValue([]).filter(e, has(e.%s)).map(e, e.%s)" $first (last $parts) (last $parts)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $lists | uniq | join " +\n" -}}
{{- end -}}

{{/* Those of which the policies cannot see all pod templates, as CEL writes them: 'group/resource'. */}}
{{- define "berth.celOpaque" -}}
{{- $names := list -}}
{{- range (include "berth.kinds" . | fromJson).kinds }}{{ if .opaque }}{{ $names = append $names (printf "'%s/%s'" .group .resource) }}{{ end }}{{ end -}}
{{- $names | join ", " -}}
{{- end -}}

{{/* Whether an object `o` of any of them is suspended, as a CEL expression. */}}
{{- define "berth.celSuspended" -}}
{{- $switches := list -}}
{{- range (include "berth.kinds" . | fromJson).kinds }}{{ with .suspend }}{{ $switches = append $switches (printf "o.?%s.orValue(false)" (replace "." ".?" .)) }}{{ end }}{{ end -}}
{{- $switches | uniq | join " || " -}}
{{- end -}}

{{/* JSON patches that suspend an object of any of them, as CEL lists that are added up: one for each path of a switch. */}}
{{- define "berth.celSuspend" -}}
{{- $of := dict -}}
{{- $if := list -}}
{{- range (include "berth.kinds" . | fromJson).kinds -}}
{{- $name := printf "'%s/%s'" .group .resource -}}
{{- if .suspend }}{{ $_ := set $of .suspend (append (get $of .suspend | default list) $name) }}{{ end -}}
{{- if .suspendIf }}{{ $if = append $if (printf "(request.resource.group + '/' + request.resource.resource) != %s || %s" $name .suspendIf) }}{{ end -}}
{{- end -}}
{{- $lists := list -}}
{{- range $path, $kinds := $of -}}
{{- $keys := splitList "." $path -}}
{{- $parent := initial $keys -}}
{{- $add := printf "[JSONPatch{op: 'add', path: '/%s', value: true}]" (join "/" $keys) -}}
{{- if gt (len $keys) 2 -}}
{{- $add = printf "(object.?%s.hasValue() ? %s : [JSONPatch{op: 'add', path: '/%s', value: {'%s': true}}])" (join ".?" $parent) $add (join "/" $parent) (last $keys) -}}
{{- end -}}
{{- $lists = append $lists (printf "((request.resource.group + '/' + request.resource.resource) in [%s] ?\n%s : [])" (join ", " $kinds) $add) -}}
{{- end -}}
({{ range $if }}({{ . }}) && {{ end }}true ?
{{ $lists | join " +\n" }} : [])
{{- end -}}

{{/* JSON patches that write the scheduler name into their pod templates, in the same way. */}}
{{- define "berth.celSchedulerNames" -}}
{{- $name := first .Values.scheduler.names -}}
{{- $lists := list -}}
{{- range (include "berth.kinds" . | fromJson).kinds -}}
{{- range .pods -}}
{{- $lists = append $lists (printf "(object.?%s.hasValue() ? [JSONPatch{op: 'add', path: '/%s/schedulerName', value: '%s'}] : [])" (replace "." ".?" .) (replace "." "/" .) $name) -}}
{{- end -}}
{{- range .templates -}}
{{- $parts := splitList "[]." . -}}
{{- $first := first $parts -}}
{{- $rest := printf "%s/spec/schedulerName" (last $parts | replace "." "/") -}}
{{- if eq (len $parts) 1 -}}
{{- $lists = append $lists (printf "(object.?%s.?spec.hasValue() ? [JSONPatch{op: 'add', path: '/%s', value: '%s'}] : [])" (replace "." ".?" $first) $rest $name) -}}
{{- else -}}
{{- $list := printf "object.?%s.orValue([])" (replace "." ".?" $first) -}}
{{- $lists = append $lists (printf "%s.filter(e, e.?%s.?spec.hasValue()).map(e, JSONPatch{op: 'add',\npath: '/%s/' + string(%s.indexOf(e)) + '/%s', value: '%s'})" $list (replace "." ".?" (last $parts)) (replace "." "/" $first) $list $rest $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $lists | uniq | join " +\n" -}}
{{- end -}}

{{/* Whether an object is made by a controller of the values for an object of a group that Berth reads, as a CEL expression. */}}
{{- define "berth.celMadeByController" -}}
{{- $groups := list "jobset.x-k8s.io" -}}
{{- range (include "berth.kinds" . | fromJson).kinds }}{{ $groups = append $groups .group }}{{ end -}}
request.userInfo.username in [{{ range $i, $name := prepend .Values.tenantPolicy.controllers .Values.tenantPolicy.jobSetController }}{{ if $i }}, {{ end }}'{{ $name }}'{{ end }}] &&
object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false) &&
[{{ range $i, $group := $groups | uniq }}{{ if $i }}, {{ end }}'{{ $group }}/'{{ end }}].exists(g, o.apiVersion.startsWith(g)))
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
