package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// Texts that are hard to write, and plain ones.
var pieces = []string{
	"a", "trainer-0", "nvidia.com/gpu", "\"", "\\", "/", "<b>&", "\n\t\r\b\f", "\x00\x01\x1f\x7f", "é", "漢字", "😀", "\u2028\u2029", "\ufffd",
	"\xff", "\xc3", "\xe6\xbc", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "0123456789abcdef",
}

func randomText(c randfill.Continue) string {
	var out bytes.Buffer
	for n := c.Intn(5); n > 0; n-- {
		out.WriteString(pieces[c.Intn(len(pieces))])
	}
	return out.String()
}

func randomTime(c randfill.Continue) metav1.Time {
	switch c.Intn(8) {
	case 0:
		return metav1.Time{}
	case 1:
		return metav1.Unix(c.Int63n(253402300800+62167219200)-62167219200, 0) // the years 0 to 9999
	default:
		return metav1.Unix(c.Int63n(4e9)-1e9, 0)
	}
}

var formats = []resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent}

func filler(source rand.Source, empty float64) *randfill.Filler {
	return randfill.New().RandSource(source).NilChance(empty).NumElements(0, 4).Funcs(
		func(text *string, c randfill.Continue) { *text = randomText(c) },
		func(n *int64, c randfill.Continue) {
			*n = []int64{0, 1, -1, c.Int63(), -c.Int63(), c.Int63n(1000)}[c.Intn(6)]
		},
		func(n *int32, c randfill.Continue) {
			*n = []int32{0, 1, -1, c.Int31(), -c.Int31(), c.Int31n(1000)}[c.Intn(6)]
		},
		func(at *metav1.Time, c randfill.Continue) { *at = randomTime(c) },
		func(q *resource.Quantity, c randfill.Continue) {
			if c.Intn(8) > 0 {
				*q = *resource.NewMilliQuantity(c.Int63()>>c.Intn(60), formats[c.Intn(3)])
			}
		},
		func(either *intstr.IntOrString, c randfill.Continue) {
			if c.Bool() {
				*either = intstr.FromInt32(c.Int31() >> c.Intn(31))
			} else {
				*either = intstr.FromString(randomText(c))
			}
		},
		func(fields *metav1.FieldsV1, c randfill.Continue) { fields.Raw = []byte(`{"f:metadata":{}}`) },
		func(*metav1.TypeMeta, randfill.Continue) {},
	)
}

func put(out io.Writer, text []byte) error {
	if err := binary.Write(out, binary.BigEndian, uint32(len(text))); err != nil {
		return err
	}
	_, err := out.Write(text)
	return err
}

func withoutManagedFields(object runtime.Object) {
	switch o := object.(type) {
	case *v1.Pod:
		o.ManagedFields = nil
		withoutThoseOfClaims(&o.Spec)
	case *v1.Node:
		o.ManagedFields = nil
	case *batchv1.Job:
		o.ManagedFields = nil
		o.Spec.Template.ManagedFields = nil
		withoutThoseOfClaims(&o.Spec.Template.Spec)
	}
}

func withoutThoseOfClaims(spec *v1.PodSpec) {
	for i := range spec.Volumes {
		if claim := spec.Volumes[i].Ephemeral; claim != nil && claim.VolumeClaimTemplate != nil {
			claim.VolumeClaimTemplate.ManagedFields = nil
		}
	}
}

// Makes an empty object of each kind that is read in binary form.
var kinds = []struct {
	kind schema.GroupVersionKind
	make func() runtime.Object
}{
	{v1.SchemeGroupVersion.WithKind("Pod"), func() runtime.Object { return &v1.Pod{} }},
	{v1.SchemeGroupVersion.WithKind("Node"), func() runtime.Object { return &v1.Node{} }},
	{batchv1.SchemeGroupVersion.WithKind("Job"), func() runtime.Object { return &batchv1.Job{} }},
}

func printObjects(out io.Writer, seed int64, count int) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, batchv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	toJSON := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{})
	toProtobuf := protobuf.NewSerializer(scheme, scheme)
	source := rand.New(rand.NewSource(seed))
	for i := 0; i < count; i++ {
		for _, of := range kinds {
			object, again := of.make(), of.make()
			// From empty objects to such that have everything.
			filler(rand.NewSource(source.Int63()), float64(i%11)/10).Fill(object)
			object.GetObjectKind().SetGroupVersionKind(of.kind)
			var binaryForm, text bytes.Buffer
			if err := toProtobuf.Encode(object, &binaryForm); err != nil {
				return err
			}
			// The API server's objects come out of etcd in protobuf: no list of theirs is empty and not nil, and their quantities are those of a text.
			if _, _, err := toProtobuf.Decode(binaryForm.Bytes(), nil, again); err != nil {
				return err
			}
			again.GetObjectKind().SetGroupVersionKind(of.kind)
			binaryForm.Reset()
			if err := toProtobuf.Encode(again, &binaryForm); err != nil {
				return err
			}
			withoutManagedFields(again)
			if err := toJSON.Encode(again, &text); err != nil {
				return err
			}
			if err := put(out, binaryForm.Bytes()); err != nil {
				return err
			}
			if err := put(out, text.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}
