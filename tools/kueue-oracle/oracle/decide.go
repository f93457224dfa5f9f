package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"time"

	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	"sigs.k8s.io/kueue/pkg/workload"
)

const (
	mostCycles = 12
	quietAfter = 2               // cycles without a change
	patience   = 5 * time.Second // of one cycle: it ends as soon as there is a head
)

type podSet struct {
	Name    string            `json:"name"`
	Flavors map[string]string `json:"flavors"`
	Count   int32             `json:"count"`
}
type holding struct {
	ClusterQueue string   `json:"clusterQueue"`
	PodSets      []podSet `json:"podSets"`
}
type eviction struct {
	Reason          string `json:"reason"`
	PreemptedReason string `json:"preemptedReason,omitempty"`
}
type expectation struct {
	Admitted      map[string]holding        `json:"admitted"`
	NewlyAdmitted []string                  `json:"newlyAdmitted"`
	Evicted       map[string]eviction       `json:"evicted"`
	Pending       map[string]map[string]any `json:"pending"`
	Cycles        int                       `json:"cycles"` // that it took, for information
}

// Lets Kueue decide so many times about the same world: the first decision is expected, and each other one goes into c.Also.
func decideTimes(c *Case, world *World, times int) error {
	var all []expectation
	for i := 0; i < times; i++ {
		if err := decide(c, world); err != nil {
			return err
		}
		now := c.Expect.(expectation)
		now.Cycles = 0
		sort.Strings(now.NewlyAdmitted)
		if !slices.ContainsFunc(all, func(e expectation) bool { return reflect.DeepEqual(e, now) }) {
			all = append(all, now)
		}
	}
	if times > 1 {
		c.Expect, c.Also = all[0], all[1:]
	}
	return nil
}

// Sets what Kueue decides about the world, cycle after cycle until nothing changes: what is evicted goes on to hold its quota, as in
// one cycle, and what one cycle leaves for the next is decided, too.
func decide(c *Case, world *World) error {
	now, err := time.Parse(time.RFC3339, c.Now)
	if err != nil {
		return err
	}
	objects, err := world.objects()
	if err != nil {
		return err
	}
	c.Kind, c.Cycles, c.Objects, c.Gates, c.TieBreaks = "cycle", 1, objects, map[string]bool{}, []string{}

	ctx := ctrl.LoggerInto(context.Background(), logr.Discard())
	var all []client.Object
	for _, o := range world.namespaces {
		all = append(all, o.DeepCopy())
	}
	for _, o := range world.ranges {
		all = append(all, o.DeepCopy())
	}
	for _, o := range world.queues {
		all = append(all, o.DeepCopy())
	}
	for _, o := range world.lines {
		all = append(all, o.DeepCopy())
	}
	before := map[string]bool{} // evicted already
	for _, o := range world.workloads {
		all = append(all, o.DeepCopy())
		before[name(o)] = apimeta.IsStatusConditionTrue(o.Status.Conditions, kueue.WorkloadEvicted)
	}
	cl := utiltesting.NewClientBuilder().WithObjects(all...).WithStatusSubresource(&kueue.Workload{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: utiltesting.TreatSSAAsStrategicMerge}).Build()

	clock := clocktesting.NewFakeClock(now)
	fair := c.Config.FairSharing
	cache := schdcache.New(cl, schdcache.WithFairSharing(fair != nil))
	queues := qcache.NewManagerForUnitTests(cl, cache, qcache.WithClock(clock))
	for _, o := range world.checks {
		cache.AddOrUpdateAdmissionCheck(logr.Discard(), o.DeepCopy())
	}
	for _, o := range world.flavors {
		cache.AddOrUpdateResourceFlavor(logr.Discard(), o.DeepCopy())
	}
	for _, o := range world.cohorts {
		if err := cache.AddOrUpdateCohort(o.DeepCopy()); err != nil {
			return fmt.Errorf("Cohort %s: %w", o.Name, err)
		}
		queues.AddOrUpdateCohort(ctx, o.DeepCopy())
	}
	for _, o := range world.queues {
		if err := cache.AddClusterQueue(ctx, o.DeepCopy()); err != nil {
			return fmt.Errorf("ClusterQueue %s: %w", o.Name, err)
		}
		if err := queues.AddClusterQueue(ctx, o.DeepCopy()); err != nil {
			return fmt.Errorf("ClusterQueue %s: %w", o.Name, err)
		}
	}
	for _, o := range world.lines {
		if err := queues.AddLocalQueue(ctx, o.DeepCopy()); err != nil {
			return fmt.Errorf("LocalQueue %s/%s: %w", o.Namespace, o.Name, err)
		}
	}
	strategy := config.QuotaCheckStrategy(c.Config.QuotaCheckStrategy)
	s := scheduler.New(queues, cache, cl, &utiltesting.EventRecorder{}, scheduler.WithFairSharing(fair),
		scheduler.WithClock(nil, clock), scheduler.WithPreemptionExpectations(preemptexpectations.New()),
		scheduler.WithQuotaCheckStrategy(strategy))

	var got expectation
	quiet := 0
	for ; got.Cycles < mostCycles && quiet < quietAfter && len(queues.Dump()) > 0; got.Cycles++ {
		cycle, cancel := context.WithTimeout(ctx, patience)
		go queues.CleanUpOnContext(cycle)
		s.Cycle(cycle)
		cancel()
		was := got
		if err := look(ctx, cl, before, &got); err != nil {
			return err
		}
		if len(was.NewlyAdmitted) == len(got.NewlyAdmitted) && len(was.Evicted) == len(got.Evicted) {
			quiet++
		} else {
			quiet = 0
		}
	}
	if err := look(ctx, cl, before, &got); err != nil {
		return err
	}
	held := map[string]bool{}
	for _, o := range world.workloads {
		held[name(o)] = workload.HasQuotaReservation(o)
	}
	newly := []string{}
	for _, workload := range got.NewlyAdmitted {
		if !held[workload] {
			newly = append(newly, workload)
		}
	}
	got.NewlyAdmitted = newly
	c.Expect = got
	return nil
}

func name(w *kueue.Workload) string { return w.Namespace + "/" + w.Name }

func look(ctx context.Context, cl client.Client, before map[string]bool, got *expectation) error {
	var list kueue.WorkloadList
	if err := cl.List(ctx, &list); err != nil {
		return err
	}
	got.Admitted, got.NewlyAdmitted = map[string]holding{}, nil
	got.Evicted, got.Pending = map[string]eviction{}, map[string]map[string]any{}
	for i := range list.Items {
		w := &list.Items[i]
		if apimeta.IsStatusConditionTrue(w.Status.Conditions, kueue.WorkloadFinished) {
			continue
		}
		if c := apimeta.FindStatusCondition(w.Status.Conditions, kueue.WorkloadEvicted); c != nil && c.Status == "True" && !before[name(w)] {
			of := eviction{Reason: c.Reason}
			if p := apimeta.FindStatusCondition(w.Status.Conditions, kueue.WorkloadPreempted); p != nil {
				of.PreemptedReason = p.Reason
			}
			got.Evicted[name(w)] = of
		}
		if !workload.HasQuotaReservation(w) || w.Status.Admission == nil {
			got.Pending[name(w)] = map[string]any{}
			continue
		}
		h := holding{ClusterQueue: string(w.Status.Admission.ClusterQueue)}
		for _, a := range w.Status.Admission.PodSetAssignments {
			set := podSet{Name: string(a.Name), Flavors: map[string]string{}}
			if a.Count != nil {
				set.Count = *a.Count
			}
			for resource, flavor := range a.Flavors {
				set.Flavors[string(resource)] = string(flavor)
			}
			h.PodSets = append(h.PodSets, set)
		}
		got.Admitted[name(w)] = h
		got.NewlyAdmitted = append(got.NewlyAdmitted, name(w))
	}
	return nil
}
