package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Pods that start together or not at all.
type gang struct {
	Name string   `json:"name"`
	Pods []string `json:"pods"`
}

// So many times the filters are asked about a pod and all nodes.
const mostLooks = 400

// A search for an order and for nodes with which the default scheduler could place a whole gang, pod by pod: depth first, and no state twice.
type search struct {
	world *world
	pods  []*v1.Pod
	alike []string        // what each pod is, without its name
	only  []string        // the node that each pod must have; nil: any
	seen  map[string]bool // which pods stand where
	looks int
	steps []finding
}

// How a sequence of binds places the waiting gang whole; nil: none was found.
func (w *world) wholeGang(of gang) ([]finding, error) {
	return w.sequence(of, nil)
}

// The same with these nodes; nil: any.
func (w *world) sequence(of gang, only []string) ([]finding, error) {
	s := search{world: w, seen: map[string]bool{}, only: only}
	for i, name := range of.Pods {
		pod := w.waiting[name]
		if pod == nil {
			return nil, fmt.Errorf("%s of gang %s does not wait", name, of.Name)
		}
		text, err := json.Marshal([]any{pod.Namespace, pod.Labels, pod.Spec})
		if err != nil {
			return nil, err
		}
		alike := string(text)
		if only != nil {
			alike += " on " + only[i]
		}
		s.pods, s.alike = append(s.pods, pod), append(s.alike, alike)
	}
	found, err := s.from(make([]string, len(s.pods)))
	if err != nil || !found {
		return nil, err
	}
	return s.steps, nil
}

// Places those that have no node in `on` yet.
func (s *search) from(on []string) (bool, error) {
	var there []string
	for i, node := range on {
		if node != "" {
			there = append(there, s.alike[i]+" "+node)
		}
	}
	if len(there) == len(on) {
		return true, nil
	}
	slices.Sort(there)
	if key := strings.Join(there, "\n"); s.seen[key] {
		return false, nil
	} else {
		s.seen[key] = true
	}
	tried := map[string]bool{}
	for i, pod := range s.pods {
		if on[i] != "" || tried[s.alike[i]] {
			continue
		}
		if s.looks == mostLooks {
			return false, nil
		}
		s.looks++
		tried[s.alike[i]] = true
		only := ""
		if s.only != nil {
			only = s.only[i]
		}
		look, err := s.world.filter(pod, only, len(s.world.nodes))
		if err != nil {
			return false, err
		}
		for _, node := range look.fits {
			on[i] = node.Name
			found, err := s.with(pod, look, on, node.Name)
			if err != nil || found {
				return found, err
			}
			on[i] = ""
		}
	}
	return false, nil
}

// Goes on with the pod on the node, and takes it back.
func (s *search) with(pod *v1.Pod, look look, on []string, node string) (bool, error) {
	w := s.world
	if w.kubelet(pod, node) != nil {
		return false, nil
	}
	before, cycle := w.bound, look.cycle.Clone()
	bound, err := w.bind(pod, cycle, node)
	if err != nil {
		return false, err
	}
	s.steps = append(s.steps, finding{Pod: pod.Namespace + "/" + pod.Name, Node: node})
	found, err := s.from(on)
	w.plugins.RunReservePluginsUnreserve(w.ctx, cycle, bound, node)
	w.bound = before
	w.look()
	if !found {
		s.steps = s.steps[:len(s.steps)-1]
	}
	return found, err
}
