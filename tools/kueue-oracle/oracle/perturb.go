package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
)

// What can be another way in a world, each as likely as the others. Each returns what it changed, or "" where it found nothing to
// change. What Kueue's webhooks refuse is never made: limits without a cohort, lending above the nominal quota, borrowWithinCohort without
// reclaimWithinCohort, a preference without TryNextFlavor.
var changes = []func(*World, *rand.Rand) string{
	changeQuota, changeQuota, changeQuota, changeRequest, changeRequest, changeCount, changePriority, changePriority, changeAge,
	changeReservation, changePreemption, changePreemption, changeFungibility, changeWeight, changeStrategy, changeCohort,
	dropWorkload, cloneWorkload,
}

// Makes one to three changes and says which.
func perturb(w *World, r *rand.Rand) []string {
	var out []string
	for n := 1 + r.IntN(3); n > 0; n-- {
		for tries := 0; tries < 20; tries++ {
			if said := changes[r.IntN(len(changes))](w, r); said != "" {
				out = append(out, said)
				break
			}
		}
	}
	return out
}

func one[T any](r *rand.Rand, of []T) (T, bool) {
	if len(of) == 0 {
		var none T
		return none, false
	}
	return of[r.IntN(len(of))], true
}

// ------------------------------------------------------------------------------------------------------------- amounts

func other(r *rand.Rand, name corev1.ResourceName, q resource.Quantity) resource.Quantity {
	step := resource.MustParse("1")
	if name == corev1.ResourceMemory {
		step = resource.MustParse("1Gi")
	}
	out := q.DeepCopy()
	switch r.IntN(5) {
	case 0:
		out.Add(step)
	case 1:
		out.Sub(step)
	case 2:
		out.Add(q)
	case 3:
		out = *resource.NewMilliQuantity(q.MilliValue()/2, q.Format)
	default:
		out = *resource.NewQuantity(0, q.Format)
	}
	if out.Sign() < 0 {
		return *resource.NewQuantity(0, q.Format)
	}
	if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
		return *resource.NewQuantity(out.Value(), q.Format) // devices are whole
	}
	return out
}

func limit(r *rand.Rand, name corev1.ResourceName, nominal resource.Quantity) *resource.Quantity {
	if r.IntN(3) == 0 {
		return nil
	}
	out := other(r, name, nominal)
	return &out
}

func changeQuota(w *World, r *rand.Rand) string {
	type at struct {
		who       string
		groups    []kueue.ResourceGroup
		hasParent bool
	}
	var all []at
	for _, q := range w.queues {
		all = append(all, at{"ClusterQueue " + q.Name, q.Spec.ResourceGroups, q.Spec.CohortName != ""})
	}
	for _, c := range w.cohorts {
		if len(c.Spec.ResourceGroups) > 0 {
			all = append(all, at{"Cohort " + c.Name, c.Spec.ResourceGroups, c.Spec.ParentName != ""})
		}
	}
	where, ok := one(r, all)
	if !ok || len(where.groups) == 0 {
		return ""
	}
	group := where.groups[r.IntN(len(where.groups))]
	if len(group.Flavors) == 0 {
		return ""
	}
	flavor := group.Flavors[r.IntN(len(group.Flavors))]
	if len(flavor.Resources) == 0 {
		return ""
	}
	quota := &flavor.Resources[r.IntN(len(flavor.Resources))]
	what := "nominalQuota"
	switch kind := r.IntN(3); {
	case kind == 1 && where.hasParent:
		what = "borrowingLimit"
		quota.BorrowingLimit = limit(r, quota.Name, quota.NominalQuota)
	case kind == 2 && where.hasParent:
		what = "lendingLimit"
		quota.LendingLimit = limit(r, quota.Name, quota.NominalQuota)
	default:
		quota.NominalQuota = other(r, quota.Name, quota.NominalQuota)
	}
	if quota.LendingLimit != nil && quota.LendingLimit.Cmp(quota.NominalQuota) > 0 {
		limit := quota.NominalQuota.DeepCopy()
		quota.LendingLimit = &limit
	}
	text := func(q *resource.Quantity) string {
		if q == nil {
			return "-"
		}
		return q.String()
	}
	return fmt.Sprintf("%s of %s, %s %s: %s, %s, %s", what, where.who, flavor.Name, quota.Name, quota.NominalQuota.String(),
		text(quota.BorrowingLimit), text(quota.LendingLimit))
}

func assignment(wl *kueue.Workload, set int) *kueue.PodSetAssignment {
	if wl.Status.Admission == nil || set >= len(wl.Status.Admission.PodSetAssignments) {
		return nil
	}
	return &wl.Status.Admission.PodSetAssignments[set]
}

// A workload and the index of one of its pod sets; nil where there is none.
func onePodSet(w *World, r *rand.Rand) (*kueue.Workload, int) {
	wl, ok := one(r, w.workloads)
	if !ok || len(wl.Spec.PodSets) == 0 {
		return nil, 0
	}
	return wl, r.IntN(len(wl.Spec.PodSets))
}

func changeRequest(w *World, r *rand.Rand) string {
	wl, s := onePodSet(w, r)
	if wl == nil {
		return ""
	}
	set := &wl.Spec.PodSets[s]
	if len(set.Template.Spec.Containers) != 1 || len(set.Template.Spec.InitContainers) > 0 || set.Template.Spec.Overhead != nil {
		return ""
	}
	requests := set.Template.Spec.Containers[0].Resources.Requests
	names := []corev1.ResourceName{}
	for _, name := range []corev1.ResourceName{"cpu", "memory", "example.com/gpu", "gpu", "nvidia.com/gpu"} {
		if _, has := requests[name]; has {
			names = append(names, name)
		}
	}
	name, ok := one(r, names)
	if !ok {
		return ""
	}
	to := other(r, name, requests[name])
	if to.Sign() == 0 {
		return ""
	}
	if a := assignment(wl, s); a != nil {
		if _, charged := a.ResourceUsage[name]; !charged || a.Count == nil {
			return ""
		}
		a.ResourceUsage[name] = times(to, *a.Count)
	}
	requests[name] = to
	return fmt.Sprintf("%s asks for %s of %s", wl.Name, to.String(), name)
}

func times(q resource.Quantity, n int32) resource.Quantity {
	return *resource.NewMilliQuantity(q.MilliValue()*int64(n), q.Format)
}

func changeCount(w *World, r *rand.Rand) string {
	wl, s := onePodSet(w, r)
	if wl == nil {
		return ""
	}
	set := &wl.Spec.PodSets[s]
	to := set.Count + int32(r.IntN(3)) - 1
	if to == set.Count || to < 1 || (set.MinCount != nil && *set.MinCount > to) {
		return ""
	}
	if a := assignment(wl, s); a != nil {
		if a.Count == nil || *a.Count != set.Count {
			return ""
		}
		for name, usage := range a.ResourceUsage {
			a.ResourceUsage[name] = *resource.NewMilliQuantity(usage.MilliValue()/int64(set.Count)*int64(to), usage.Format)
		}
		a.Count = &to
	}
	set.Count = to
	return fmt.Sprintf("%s has %d pods", wl.Name, to)
}

// --------------------------------------------------------------------------------------------------- order of workloads

func changePriority(w *World, r *rand.Rand) string {
	wl, ok := one(r, w.workloads)
	if !ok {
		return ""
	}
	var to int32
	if wl.Spec.Priority != nil {
		to = *wl.Spec.Priority
	}
	switch r.IntN(3) {
	case 0:
		to++
	case 1:
		to--
	default:
		from, _ := one(r, w.workloads)
		if from.Spec.Priority == nil || (wl.Spec.Priority != nil && *from.Spec.Priority == *wl.Spec.Priority) {
			return ""
		}
		to = *from.Spec.Priority
	}
	wl.Spec.Priority = &to
	return fmt.Sprintf("%s has priority %d", wl.Name, to)
}

func changeAge(w *World, r *rand.Rand) string {
	wl, ok := one(r, w.workloads)
	if !ok {
		return ""
	}
	wl.CreationTimestamp = metav1.NewTime(wl.CreationTimestamp.Add(time.Duration(r.IntN(5)-2) * time.Second))
	return fmt.Sprintf("%s was made %s", wl.Name, wl.CreationTimestamp.UTC().Format(time.TimeOnly))
}

func changeReservation(w *World, r *rand.Rand) string {
	wl, ok := one(r, w.workloads)
	if !ok {
		return ""
	}
	c := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
	if c == nil {
		return ""
	}
	c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Add(-time.Duration(1+r.IntN(3)) * time.Second))
	return fmt.Sprintf("%s got its quota %s", wl.Name, c.LastTransitionTime.UTC().Format(time.TimeOnly))
}

// ------------------------------------------------------------------------------------------------------------- policies

func changePreemption(w *World, r *rand.Rand) string {
	q, ok := one(r, w.queues)
	if !ok {
		return ""
	}
	if q.Spec.Preemption == nil {
		q.Spec.Preemption = &kueue.ClusterQueuePreemption{}
	}
	p := q.Spec.Preemption
	switch r.IntN(3) {
	case 0:
		p.WithinClusterQueue, _ = one(r, []kueue.PreemptionPolicy{kueue.PreemptionPolicyNever, kueue.PreemptionPolicyLowerPriority,
			kueue.PreemptionPolicyLowerOrNewerEqualPriority})
	case 1:
		p.ReclaimWithinCohort, _ = one(r, []kueue.PreemptionPolicy{kueue.PreemptionPolicyNever, kueue.PreemptionPolicyLowerPriority,
			kueue.PreemptionPolicyAny})
	default:
		p.BorrowWithinCohort = nil
		if r.IntN(2) == 0 {
			p.BorrowWithinCohort = &kueue.BorrowWithinCohort{Policy: kueue.BorrowWithinCohortPolicyLowerPriority}
			if r.IntN(2) == 0 {
				most := int32(r.IntN(4) - 1)
				p.BorrowWithinCohort.MaxPriorityThreshold = &most
			}
		}
	}
	if p.ReclaimWithinCohort == "" || p.ReclaimWithinCohort == kueue.PreemptionPolicyNever {
		p.BorrowWithinCohort = nil
	}
	borrow := "-"
	if p.BorrowWithinCohort != nil {
		borrow = string(p.BorrowWithinCohort.Policy)
		if p.BorrowWithinCohort.MaxPriorityThreshold != nil {
			borrow += fmt.Sprintf(" up to %d", *p.BorrowWithinCohort.MaxPriorityThreshold)
		}
	}
	return fmt.Sprintf("preemption of %s: within %s, reclaim %s, borrow %s", q.Name, p.WithinClusterQueue, p.ReclaimWithinCohort, borrow)
}

func changeFungibility(w *World, r *rand.Rand) string {
	q, ok := one(r, w.queues)
	if !ok {
		return ""
	}
	policies := []kueue.FlavorFungibilityPolicy{kueue.MayStopSearch, kueue.TryNextFlavor}
	f := &kueue.FlavorFungibility{}
	f.WhenCanBorrow, _ = one(r, policies)
	f.WhenCanPreempt, _ = one(r, policies)
	said := fmt.Sprintf("fungibility of %s: borrow %s, preempt %s", q.Name, f.WhenCanBorrow, f.WhenCanPreempt)
	if f.WhenCanBorrow == kueue.TryNextFlavor && f.WhenCanPreempt == kueue.TryNextFlavor && r.IntN(2) == 0 {
		preference, _ := one(r, []kueue.FlavorFungibilityPreference{kueue.BorrowingOverPreemption, kueue.PreemptionOverBorrowing})
		f.Preference = &preference
		said += ", " + string(preference)
	}
	q.Spec.FlavorFungibility = f
	return said
}

func changeWeight(w *World, r *rand.Rand) string {
	if len(w.queues)+len(w.cohorts) == 0 {
		return ""
	}
	weight := resource.MustParse([]string{"0", "500m", "1", "2", "3"}[r.IntN(5)])
	n := r.IntN(len(w.queues) + len(w.cohorts))
	if n < len(w.queues) {
		w.queues[n].Spec.FairSharing = &kueue.FairSharing{Weight: &weight}
		return fmt.Sprintf("weight of ClusterQueue %s: %s", w.queues[n].Name, weight.String())
	}
	c := w.cohorts[n-len(w.queues)]
	c.Spec.FairSharing = &kueue.FairSharing{Weight: &weight}
	return fmt.Sprintf("weight of Cohort %s: %s", c.Name, weight.String())
}

func changeStrategy(w *World, r *rand.Rand) string {
	q, ok := one(r, w.queues)
	if !ok {
		return ""
	}
	if q.Spec.QueueingStrategy == kueue.StrictFIFO {
		q.Spec.QueueingStrategy = kueue.BestEffortFIFO
	} else {
		q.Spec.QueueingStrategy = kueue.StrictFIFO
	}
	return fmt.Sprintf("%s is %s", q.Name, q.Spec.QueueingStrategy)
}

func changeCohort(w *World, r *rand.Rand) string {
	q, ok := one(r, w.queues)
	from, _ := one(r, w.queues)
	if !ok || from.Spec.CohortName == q.Spec.CohortName || from.Spec.CohortName == "" {
		return ""
	}
	q.Spec.CohortName = from.Spec.CohortName
	return fmt.Sprintf("%s is in cohort %s", q.Name, q.Spec.CohortName)
}

// ------------------------------------------------------------------------------------------------------------ workloads

func dropWorkload(w *World, r *rand.Rand) string {
	if len(w.workloads) < 2 {
		return ""
	}
	i := r.IntN(len(w.workloads))
	gone := w.workloads[i]
	if !workload.HasQuotaReservation(gone) {
		return ""
	}
	w.workloads = append(w.workloads[:i:i], w.workloads[i+1:]...)
	return gone.Name + " is gone"
}

// One more of what waits, in a queue where nobody does: of several in one queue Kueue looks at one a cycle, and not at those behind one that
// waits for its victims to end.
func cloneWorkload(w *World, r *rand.Rand) string {
	of, ok := one(r, w.workloads)
	if !ok || workload.HasQuotaReservation(of) || len(of.Status.Conditions) > 0 {
		return ""
	}
	queue := map[kueue.LocalQueueName]kueue.ClusterQueueReference{}
	for _, line := range w.lines {
		if line.Namespace == of.Namespace {
			queue[kueue.LocalQueueName(line.Name)] = line.Spec.ClusterQueue
		}
	}
	waits := map[kueue.ClusterQueueReference]bool{}
	for _, known := range w.workloads {
		if !workload.HasQuotaReservation(known) {
			waits[queue[known.Spec.QueueName]] = true
		}
	}
	var free []kueue.LocalQueueName
	for _, line := range w.lines {
		if line.Namespace == of.Namespace && !waits[line.Spec.ClusterQueue] {
			free = append(free, kueue.LocalQueueName(line.Name))
		}
	}
	to, ok := one(r, free)
	if !ok {
		return ""
	}
	twin := of.DeepCopy()
	twin.Name += "-twin"
	twin.UID = types.UID(twin.Name)
	for _, known := range w.workloads {
		if known.Name == twin.Name {
			return ""
		}
	}
	twin.Spec.QueueName = to
	twin.CreationTimestamp = metav1.NewTime(twin.CreationTimestamp.Add(time.Second))
	if r.IntN(2) == 0 {
		to := int32(1)
		if of.Spec.Priority != nil {
			to += *of.Spec.Priority
		}
		twin.Spec.Priority = &to
	}
	w.workloads = append(w.workloads, twin)
	return fmt.Sprintf("%s waits in %s, too", twin.Name, to)
}
