//go:build kubernetes_1_37

// What Kubernetes 1.37 has otherwise than 1.36: victims are units, of one pod here.
package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Feature gates that are not on by themselves: operators Lt and Gt in tolerations (versions.py).
const gates = "TaintTolerationComparisonOperators=true"

func (nobodyNominated) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}

func optionsOfVersion(factory informers.SharedInformerFactory, now *present) []frameworkruntime.Option {
	return []frameworkruntime.Option{
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithMutableSnapshotLister(now),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
	}
}

// The pods that the preemption of the default scheduler would evict from the node.
func (w *world) victimsOn(seen look, pod *v1.Pod, info fwk.NodeInfo) ([]*v1.Pod, *fwk.Status) {
	all, err := w.victims.Evaluator.GetVictimsOnNode(w.ctx, info)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	pods, _, status := w.victims.SelectVictimsOnNode(w.ctx, seen.cycle.Clone(), pod, info.Snapshot(), all, nil)
	return pods, status
}
