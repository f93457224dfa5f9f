//go:build kubernetes_1_34

// What Kubernetes 1.34 has by other names than its successors.
package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Feature gates that are not on by themselves.
const gates = ""

func (nobodyNominated) AddNominatedPod(klog.Logger, fwk.PodInfo, *framework.NominatingInfo) {}

func optionsOfVersion(informers.SharedInformerFactory, *present) []frameworkruntime.Option {
	return []frameworkruntime.Option{frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap())}
}

// The pods that the preemption of the default scheduler would evict from the node.
func (w *world) victimsOn(seen look, pod *v1.Pod, info fwk.NodeInfo) ([]*v1.Pod, *fwk.Status) {
	pods, _, status := w.victims.SelectVictimsOnNode(w.ctx, seen.cycle.Clone(), pod, info.Snapshot(), nil)
	return pods, status
}
