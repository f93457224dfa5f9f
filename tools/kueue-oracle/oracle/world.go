package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Case is one line of the data; fields that the oracle neither needs nor changes are left out.
type Case struct {
	Suite         string          `json:"suite"`
	Name          string          `json:"name"`
	Kind          string          `json:"kind"`
	Portable      bool            `json:"portable"`
	GateSensitive bool            `json:"gateSensitive"`
	TieBreaks     []string        `json:"tieBreaks"`
	Gates         map[string]bool `json:"gates"`
	Config        struct {
		FairSharing          *config.FairSharing `json:"fairSharing"`
		AdmissionFairSharing *json.RawMessage    `json:"admissionFairSharing"`
		QuotaCheckStrategy   string              `json:"quotaCheckStrategy"`
	} `json:"config"`
	Now     string            `json:"now"`
	Cycles  int               `json:"cycles"`
	Objects []json.RawMessage `json:"objects"`
	Expect  any               `json:"expect"`
	Also    []expectation     `json:"also,omitempty"` // what Kueue decides in other runs
}

// Where the decision is about queues alone, and is that of one moment.
func (c *Case) applies() bool {
	if !c.Portable || c.GateSensitive || c.Config.AdmissionFairSharing != nil {
		return false
	}
	if c.Gates["ElasticJobsViaWorkloadSlices"] || c.Gates["MultiKueueOrchestratedPreemption"] {
		return false
	}
	if c.Kind == "shares" || c.Kind == "available" || c.Kind == "topology" {
		return false
	}
	return !strings.Contains(c.Suite, "TAS") && !strings.Contains(c.Suite, "ConcurrentAdmission")
}

// World is the objects of a case, by kind, each in the order of the case.
type World struct {
	namespaces []*corev1.Namespace
	ranges     []*corev1.LimitRange
	flavors    []*kueue.ResourceFlavor
	checks     []*kueue.AdmissionCheck
	cohorts    []*kueue.Cohort
	queues     []*kueue.ClusterQueue
	lines      []*kueue.LocalQueue
	workloads  []*kueue.Workload
}

func readWorld(objects []json.RawMessage) (*World, error) {
	w := &World{}
	for i, raw := range objects {
		var head metav1.TypeMeta
		err := json.Unmarshal(raw, &head)
		if err == nil {
			switch head.Kind {
			case "Namespace":
				err = add(&w.namespaces, raw)
			case "LimitRange":
				err = add(&w.ranges, raw)
			case "ResourceFlavor":
				err = add(&w.flavors, raw)
			case "AdmissionCheck":
				err = add(&w.checks, raw)
			case "Cohort":
				err = add(&w.cohorts, raw)
			case "ClusterQueue":
				err = add(&w.queues, raw)
			case "LocalQueue":
				err = add(&w.lines, raw)
			case "Workload":
				err = add(&w.workloads, raw)
			default:
				err = fmt.Errorf("kind %q is not known here", head.Kind)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
	}
	return w, nil
}

func add[T any](to *[]*T, raw json.RawMessage) error {
	object := new(T)
	if err := json.Unmarshal(raw, object); err != nil {
		return err
	}
	*to = append(*to, object)
	return nil
}

func (w *World) objects() ([]json.RawMessage, error) {
	var out []json.RawMessage
	err := errors.Join(write(&out, w.namespaces), write(&out, w.ranges), write(&out, w.flavors), write(&out, w.checks),
		write(&out, w.cohorts), write(&out, w.queues), write(&out, w.lines), write(&out, w.workloads))
	return out, err
}

func write[T any](to *[]json.RawMessage, objects []*T) error {
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		*to = append(*to, text)
	}
	return nil
}
