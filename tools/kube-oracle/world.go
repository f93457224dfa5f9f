package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Plugins that need more than the objects of a state, and filter nothing that a state has.
var leftOut = map[string]bool{"DynamicResources": true, "GangScheduling": true, "DefaultPreemption": true, "DefaultBinder": true}

// The snapshot of the present moment: plugins keep the lister that they are made with.
type present struct{ *cache.Snapshot }

// No pod of a state is nominated to a node.
type nobodyNominated struct{}

func (nobodyNominated) DeleteNominatedPodIfExists(*v1.Pod)                   {}
func (nobodyNominated) UpdateNominatedPod(klog.Logger, *v1.Pod, fwk.PodInfo) {}
func (nobodyNominated) NominatedPodsForNode(string) []fwk.PodInfo            { return nil }

type world struct {
	ctx     context.Context
	cancel  context.CancelFunc
	plugins framework.Framework
	victims *defaultpreemption.DefaultPreemption
	now     *present
	nodes   []*v1.Node
	bound   []*v1.Pod
	waiting map[string]*v1.Pod
}

var registerMetrics sync.Once

// The pod as the API server keeps it: with defaults, with its label keys merged, and valid. One that has a uid comes from an API server.
func admitted(pod *v1.Pod) (*v1.Pod, error) {
	legacyscheme.Scheme.Default(pod)
	if pod.UID != "" {
		return pod, nil
	}
	var internal api.Pod
	if err := legacyscheme.Scheme.Convert(pod, &internal, nil); err != nil {
		return nil, err
	}
	ctx := genericapirequest.WithNamespace(context.Background(), pod.Namespace)
	podregistry.Strategy.PrepareForCreate(ctx, &internal)
	if problems := podregistry.Strategy.Validate(ctx, &internal); len(problems) > 0 {
		return nil, problems.ToAggregate()
	}
	out := &v1.Pod{}
	if err := legacyscheme.Scheme.Convert(&internal, out, nil); err != nil {
		return nil, err
	}
	out.UID = types.UID(pod.Namespace + "/" + pod.Name)
	out.Status = pod.Status
	return out, nil
}

func newWorld(ctx context.Context, texts []json.RawMessage) (*world, []string, error) {
	w := &world{waiting: map[string]*v1.Pod{}, now: &present{}}
	var refused []string
	var others []k8sruntime.Object
	decoder := legacyscheme.Codecs.UniversalDeserializer()
	for i, text := range texts {
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("object %d: %w", i, err)
		}
		switch o := object.(type) {
		case *v1.Pod:
			pod, err := admitted(o)
			if err != nil {
				refused = append(refused, fmt.Sprintf("pod %s/%s: %v", o.Namespace, o.Name, err))
			} else if pod.Spec.NodeName != "" {
				w.bound = append(w.bound, pod)
			} else {
				w.waiting[pod.Namespace+"/"+pod.Name] = pod
			}
		case *v1.Node:
			legacyscheme.Scheme.Default(o)
			w.nodes = append(w.nodes, o)
		default:
			legacyscheme.Scheme.Default(o)
			about, err := meta.Accessor(o)
			if err != nil {
				return nil, nil, fmt.Errorf("object %d: %w", i, err)
			}
			if about.GetResourceVersion() == "" {
				about.SetResourceVersion("1") // 1.34 compares versions of volumes
			}
			if class, is := o.(*storagev1.StorageClass); is && class.VolumeBindingMode == nil {
				return nil, nil, fmt.Errorf("object %d: no volumeBindingMode", i)
			}
			others = append(others, o)
		}
	}
	if len(refused) > 0 {
		return nil, refused, nil
	}
	known := map[string]bool{}
	for _, node := range w.nodes {
		known[node.Name] = true
	}
	for _, pod := range w.bound {
		if !known[pod.Spec.NodeName] {
			return nil, nil, fmt.Errorf("pod %s is bound to %s, which does not exist", pod.Name, pod.Spec.NodeName)
		}
	}
	sort.Slice(w.nodes, func(i, j int) bool { return w.nodes[i].Name < w.nodes[j].Name })
	return w, nil, w.begin(ctx, others)
}

func (w *world) begin(ctx context.Context, others []k8sruntime.Object) error {
	w.ctx, w.cancel = context.WithCancel(ctx)
	client := fake.NewClientset(others...)
	factory := informers.NewSharedInformerFactory(client, 0)
	handlers := newHandled(factory)
	defaults, err := latest.Default()
	if err != nil {
		return err
	}
	profile := defaults.Profiles[0].DeepCopy()
	var enabled []config.Plugin
	for _, plugin := range profile.Plugins.MultiPoint.Enabled {
		if !leftOut[plugin.Name] {
			enabled = append(enabled, plugin)
		}
	}
	profile.Plugins.MultiPoint.Enabled = enabled
	profile.Plugins.Bind.Enabled = []config.Plugin{{Name: "DefaultBinder"}}
	registerMetrics.Do(metrics.Register)
	w.look()
	w.plugins, err = frameworkruntime.NewFramework(w.ctx, plugins.NewInTreeRegistry(), profile, append(
		optionsOfVersion(factory, w.now),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(w.now),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithPodNominator(nobodyNominated{}))...)
	if err != nil {
		return err
	}
	// The default scheduler's own arguments: a tenth of the nodes, a hundred at least. A state has fewer.
	w.victims, err = defaultpreemption.New(w.ctx,
		&config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}, w.plugins, feature.Features{})
	if err != nil {
		return err
	}
	factory.Start(w.ctx.Done())
	factory.WaitForCacheSync(w.ctx.Done())
	handlers.wait(w.ctx)
	if len(handlers.handlers) == 0 {
		return errors.New("no plugin listens to volumes and claims through the factory's informers")
	}
	return nil
}

func (w *world) close() { w.cancel() }

func (w *world) look() { w.now.Snapshot = cache.NewSnapshot(w.bound, w.nodes) }

// A pod and the nodes, as the plugins see them at this moment.
type look struct {
	cycle    fwk.CycleState
	fits     []*v1.Node // nodes that it may have
	last     finding    // what keeps it from the last node
	yielding []fwk.NodeInfo
}

// Asks all filters. `only`: about one node; "": about all of them, until so many would do. Nodes that might do without some of their pods
// are `yielding`.
func (w *world) filter(pod *v1.Pod, only string, most int) (look, error) {
	out := look{cycle: framework.NewCycleState(), last: finding{Reason: "there is no such node"}}
	if len(pod.Spec.SchedulingGates) > 0 {
		out.last = finding{Plugin: "SchedulingGates", Reason: "it has scheduling gates"}
		return out, nil
	}
	result, all, _ := w.plugins.RunPreFilterPlugins(w.ctx, out.cycle, pod)
	if all.Code() == fwk.Error {
		return out, fmt.Errorf("%s: %w", pod.Name, all.AsError())
	}
	for _, node := range w.nodes {
		if only != "" && node.Name != only {
			continue
		}
		info, err := w.now.NodeInfos().Get(node.Name)
		if err != nil {
			return out, err
		}
		status := all
		if all.IsSuccess() && result != nil && !result.AllNodes() && !result.NodeNames.Has(node.Name) {
			status = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "not among the nodes of a plugin's PreFilter").WithPlugin("PreFilter")
		} else if all.IsSuccess() {
			status = w.plugins.RunFilterPlugins(w.ctx, out.cycle, pod, info)
		}
		switch status.Code() {
		case fwk.Error:
			return out, fmt.Errorf("%s on %s: %w", pod.Name, node.Name, status.AsError())
		case fwk.Success:
			out.fits = append(out.fits, node)
			if len(out.fits) == most {
				return out, nil
			}
			continue
		case fwk.Unschedulable:
			out.yielding = append(out.yielding, info)
		}
		out.last = finding{Plugin: status.Plugin(), Reason: status.Message()}
	}
	return out, nil
}

// Takes the binds of one start. Berth says that its pods can come one after the other, and not in which order: an order is searched
// for, at first beside the pods that end for it.
func (w *world) takeTogether(steps []step) (wrong []finding, err error) {
	if len(steps) > 1 {
		steps, err = w.inOrder(steps)
	}
	for i := 0; i < len(steps) && err == nil; i++ {
		var one *finding
		if one, err = w.take(steps[i]); one != nil {
			wrong = append(wrong, *one)
		}
	}
	return wrong, err
}

// As they come one after the other; as they are where no such order is found.
func (w *world) inOrder(steps []step) ([]step, error) {
	of, only, by := gang{Name: steps[0].Start}, []string{}, map[string]step{}
	for _, s := range steps {
		if w.waiting[s.Bind] == nil {
			return steps, nil
		}
		of.Pods, only, by[s.Bind] = append(of.Pods, s.Bind), append(only, s.Node), s
	}
	found, err := w.sequence(of, only)
	if ending := steps[0].Ending; err == nil && found == nil && len(ending) > 0 {
		w.withEnding(ending, func() { found, err = w.sequence(of, only) })
	}
	if err != nil || found == nil {
		return steps, err
	}
	out := []step{}
	for _, one := range found {
		out = append(out, by[one.Pod])
	}
	return out, nil
}

// Takes a step, and says what refuses it.
func (w *world) take(s step) (*finding, error) {
	if s.End != "" {
		for i, pod := range w.bound {
			if pod.Namespace+"/"+pod.Name == s.End {
				w.bound = append(append([]*v1.Pod(nil), w.bound[:i]...), w.bound[i+1:]...)
				w.look()
				return nil, nil
			}
		}
		return &finding{Pod: s.End, Reason: "no such pod is bound"}, nil
	}
	pod := w.waiting[s.Bind]
	if pod == nil {
		return &finding{Pod: s.Bind, Node: s.Node, Reason: "no such pod waits"}, nil
	}
	seen, err := w.filter(pod, s.Node, 1)
	if err == nil && seen.fits == nil && len(s.Ending) > 0 {
		w.withEnding(s.Ending, func() { seen, err = w.filter(pod, s.Node, 1) })
	}
	if err != nil {
		return nil, err
	}
	wrong := &seen.last
	if seen.fits != nil {
		wrong = w.kubelet(pod, s.Node)
	}
	delete(w.waiting, s.Bind)
	if seen.fits != nil {
		if _, err := w.bind(pod, seen.cycle, s.Node); err != nil {
			return nil, err
		}
	} else {
		w.add(pod, s.Node)
	}
	if wrong != nil {
		wrong.Pod, wrong.Node = s.Bind, s.Node
	}
	return wrong, nil
}

func (w *world) add(pod *v1.Pod, node string) *v1.Pod {
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	w.bound = append(w.bound[:len(w.bound):len(w.bound)], bound)
	w.look()
	return bound
}

// Binds a pod that the filters let onto the node. What the plugins set aside for it, such as volumes, is no other pod's from now on.
func (w *world) bind(pod *v1.Pod, cycle fwk.CycleState, node string) (*v1.Pod, error) {
	bound := w.add(pod, node)
	if status := w.plugins.RunReservePluginsReserve(w.ctx, cycle, bound, node); !status.IsSuccess() {
		return nil, fmt.Errorf("%s on %s: %w", pod.Name, node, status.AsError())
	}
	return bound, nil
}

// Asks while these pods end.
func (w *world) withEnding(ending []string, ask func()) {
	stay := w.bound
	w.bound = deleted(stay, ending)
	w.look()
	ask()
	w.bound = stay
	w.look()
}

// The pods, those of these names as they are while they end.
func deleted(pods []*v1.Pod, names []string) []*v1.Pod {
	now := metav1.Now()
	var out []*v1.Pod
	for _, pod := range pods {
		if slices.Contains(names, pod.Namespace+"/"+pod.Name) {
			pod = pod.DeepCopy()
			pod.DeletionTimestamp = &now
		}
		out = append(out, pod)
	}
	return out
}

// The kubelet's admission: it sees its own pods alone.
func (w *world) kubelet(pod *v1.Pod, name string) *finding {
	info := framework.NewNodeInfo()
	for _, node := range w.nodes {
		if node.Name == name {
			info.SetNode(node)
		}
	}
	for _, other := range w.bound {
		if other.Spec.NodeName == name {
			info.AddPod(other)
		}
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = name
	var reasons []string
	for _, result := range scheduler.AdmissionCheck(bound, info, true) {
		if result.InsufficientResource != nil {
			reasons = append(reasons, "insufficient "+string(result.InsufficientResource.ResourceName))
		} else {
			reasons = append(reasons, result.Name+": "+result.Reason)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return &finding{Plugin: "kubelet", Reason: strings.Join(reasons, "; ")}
}

// A node that would take the waiting pod now, or by its victims; nil: there is none.
func (w *world) room(name string) (*finding, error) {
	pod := w.waiting[name]
	if pod == nil {
		return nil, fmt.Errorf("%s does not wait", name)
	}
	seen, err := w.filter(pod, "", 1)
	if err != nil {
		return nil, err
	}
	if seen.fits != nil {
		return &finding{Pod: name, Node: seen.fits[0].Name}, nil
	}
	if may, _ := w.victims.PodEligibleToPreemptOthers(w.ctx, pod, nil); !may {
		return nil, nil
	}
	for _, info := range seen.yielding {
		pods, status := w.victimsOn(seen, pod, info)
		if status.Code() == fwk.Error {
			return nil, status.AsError()
		}
		if !status.IsSuccess() || len(pods) == 0 {
			continue
		}
		out := &finding{Pod: name, Node: info.Node().Name}
		for _, victim := range pods {
			out.Victims = append(out.Victims, victim.Namespace+"/"+victim.Name)
		}
		return out, nil
	}
	return nil, nil
}
