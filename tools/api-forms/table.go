package main

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type field struct {
	number  int
	name    string // in JSON
	written string // the marks and kinds of src/kube/protobuf_types.h
	kind    string
	list    bool
}

type table struct {
	fields map[string][]field
}

// Fields that are left out: nothing in Berth reads them.
var leftOut = map[string]bool{"ObjectMeta.managedFields": true}

// What earlier versions had: the WorkloadReference of Kubernetes 1.35, and a field of 1.36. Their numbers are theirs for ever.
type workloadReference135 struct {
	Name               string `json:"name" protobuf:"bytes,1,opt,name=name"`
	PodGroup           string `json:"podGroup" protobuf:"bytes,2,opt,name=podGroup"`
	PodGroupReplicaKey string `json:"podGroupReplicaKey,omitempty" protobuf:"bytes,3,opt,name=podGroupReplicaKey"`
}

type formerPodSpec struct {
	WorkloadRef *workloadReference135 `json:"workloadRef,omitempty" protobuf:"bytes,42,opt,name=workloadRef"`
}

type formerClaimStatus struct {
	Resources v1.ResourceList `json:"resources,omitempty" protobuf:"bytes,3,rep,name=resources"`
}

var former = map[reflect.Type]reflect.Type{
	reflect.TypeOf(v1.PodSpec{}):                            reflect.TypeOf(formerPodSpec{}),
	reflect.TypeOf(v1.NodeAllocatableResourceClaimStatus{}): reflect.TypeOf(formerClaimStatus{}),
}

func messageName(t reflect.Type) string {
	if t == reflect.TypeOf(workloadReference135{}) {
		return "WorkloadReference"
	}
	return t.Name()
}

func (t *table) fieldOf(of reflect.Type, f reflect.StructField) (field, bool, error) {
	tag := f.Tag.Get("protobuf")
	if tag == "" {
		return field{}, false, nil // TypeMeta: it stands in the envelope
	}
	parts := strings.Split(tag, ",")
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		return field{}, false, err
	}
	json := strings.Split(f.Tag.Get("json"), ",")
	options := json[1:]
	has := func(option string) bool {
		for _, o := range options {
			if o == option {
				return true
			}
		}
		return false
	}
	out := field{number: number, name: json[0], written: ""}
	if leftOut[of.Name()+"."+out.name] {
		return field{}, false, nil
	}
	goType := f.Type
	switch {
	case goType.Kind() == reflect.Pointer:
		goType = goType.Elem()
		out.written = "*"
		if !has("omitempty") && !has("omitzero") {
			out.written = "!"
		}
	case goType.Kind() == reflect.Slice || goType.Kind() == reflect.Map:
		out.written = "!"
		if has("omitempty") || has("omitzero") {
			out.written = "*"
		}
	case goType.Kind() == reflect.Struct:
		// encoding/json has no empty struct: omitempty leaves none out.
		if has("omitzero") && goType != reflect.TypeOf(metav1.Time{}) {
			return field{}, false, fmt.Errorf("omitzero of a %v", goType)
		}
		if has("omitzero") {
			out.written = "?"
		} else if goType == reflect.TypeOf(metav1.Time{}) {
			out.written = "!"
		}
	case has("omitempty") || has("omitzero"):
		out.written = "?"
	}
	if goType.Kind() == reflect.Slice {
		out.list = true
		goType = goType.Elem()
	}
	switch {
	case goType == reflect.TypeOf(metav1.Time{}):
		out.kind = "time"
	case goType == reflect.TypeOf(resource.Quantity{}):
		out.kind = "quantity"
	case goType == reflect.TypeOf(intstr.IntOrString{}):
		out.kind = "intOrText"
	case goType.Kind() == reflect.String:
		out.kind = "text"
	case goType.Kind() == reflect.Bool:
		out.kind = "bool"
	case goType.Kind() == reflect.Int32 || goType.Kind() == reflect.Int64:
		out.kind = "int"
	case goType.Kind() == reflect.Struct:
		out.kind = messageName(goType)
		if f.Anonymous && out.name == "" {
			out.kind = "+" + out.kind
			if out.list || out.written != "" {
				return field{}, false, fmt.Errorf("inline, and not a plain struct")
			}
		}
		if err := t.add(goType); err != nil {
			return field{}, false, err
		}
	case goType.Kind() == reflect.Map && goType.Elem() == reflect.TypeOf(resource.Quantity{}):
		out.kind = "quantities"
	case goType.Kind() == reflect.Map && goType.Elem().Kind() == reflect.String:
		out.kind = "texts"
	default:
		return field{}, false, fmt.Errorf("no kind for %v", goType)
	}
	return out, true, nil
}

func (t *table) add(of reflect.Type) error {
	name := messageName(of)
	if _, known := t.fields[name]; known {
		return nil
	}
	t.fields[name] = nil
	var fields []field
	take := func(from reflect.Type) error {
		for i := 0; i < from.NumField(); i++ {
			f, is, err := t.fieldOf(of, from.Field(i))
			if err != nil {
				return fmt.Errorf("%s.%s: %w", name, from.Field(i).Name, err)
			}
			if is {
				fields = append(fields, f)
			}
		}
		return nil
	}
	if err := take(of); err != nil {
		return err
	}
	if more, has := former[of]; has {
		if err := take(more); err != nil {
			return err
		}
	}
	sort.Slice(fields, func(i, j int) bool { return fields[i].number < fields[j].number })
	t.fields[name] = fields
	return nil
}

const lineWidth = 118

func printTable(out io.Writer) error {
	t := table{fields: map[string][]field{}}
	for _, root := range []any{v1.Pod{}, v1.Node{}, batchv1.Job{}, metav1.Status{}} {
		if err := t.add(reflect.TypeOf(root)); err != nil {
			return err
		}
	}
	fmt.Fprint(out, `// Made by scripts/api-forms table from the Go types of Kubernetes' API; not to be edited.
#include "kube/protobuf_types.h"

namespace berth::kube {

constinit const std::string_view kMessageTable = R"(
`)
	for _, name := range slices.Sorted(maps.Keys(t.fields)) {
		line := name + ":"
		for _, f := range t.fields[name] {
			word := fmt.Sprintf(" %d:%s%s", f.number, f.name, f.written)
			if f.list || f.kind != "text" {
				word += "="
			}
			if f.list {
				word += "[]"
			}
			if f.list || f.kind != "text" {
				word += f.kind
			}
			if len(line)+len(word) > lineWidth {
				fmt.Fprintln(out, line)
				line = " "
			}
			line += word
		}
		fmt.Fprintln(out, line)
	}
	_, err := fmt.Fprint(out, `)";

}  // namespace berth::kube
`)
	return err
}
