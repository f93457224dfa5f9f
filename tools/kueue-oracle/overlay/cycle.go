// Added to Kueue's package scheduler when the oracle is built (scripts/kueue-oracle): one scheduling cycle, to its end.
package scheduler

import (
	"context"
	"sync"

	"sigs.k8s.io/kueue/pkg/util/routine"
)

// Cycle runs one cycle and waits until what it admitted is written. It blocks until there is a head or the context ends.
func (s *Scheduler) Cycle(ctx context.Context) {
	var writes sync.WaitGroup
	s.setAdmissionRoutineWrapper(routine.NewWrapper(func() { writes.Add(1) }, func() { writes.Done() }))
	s.schedule(ctx)
	writes.Wait()
}
