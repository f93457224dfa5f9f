// Kubernetes' own scheduler plugins, the kubelet's admission and the API server's strategy for pods, asked about binds that Berth proposes.
// One JSON text per line on standard input is one state of a cluster:
//
//	{"id": "...", "objects": [...], "steps": [{"bind": "ns/name", "node": "n", "ending": ["ns/name"]}, {"end": "ns/name"}],
//	 "waits": ["ns/name"], "gangs": [{"name": "ns/gang", "pods": ["ns/name"]}]}
//
// and one line per state comes back, in the same order:
//
//	{"id": "...", "wrong": [...], "missed": [...], "unmoved": [...], "unstarted": [...], "refused": [...], "errors": [...]}
//
// The steps are taken one after the other. ending: pods that are deleted by the same decision, before the bind or after it; both are
// tried. wrong: binds that a filter or the kubelet refuses. missed: pods that wait though all filters
// let them onto a node when all steps are done. unmoved: pods that wait though the preemption of the default scheduler finds victims
// for them then. unstarted: gangs that wait though a sequence of binds, each of which all filters allow, places them whole then (gangs.go).
// refused: objects that the API server would not take; their state counts for nothing. Nothing here decides anything:
// it is Kubernetes' code, of the version that go.mod or another file of modules beside it pins (version_*.go).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

type step struct {
	Bind   string   `json:"bind"`
	Node   string   `json:"node"`
	Ending []string `json:"ending"`
	End    string   `json:"end"`
	Start  string   `json:"start"` // binds of one start have the same
}

type state struct {
	ID      string            `json:"id"`
	Objects []json.RawMessage `json:"objects"`
	Steps   []step            `json:"steps"`
	Waits   []string          `json:"waits"`
	Gangs   []gang            `json:"gangs"`
}

type finding struct {
	Pod     string   `json:"pod"`
	Node    string   `json:"node,omitempty"`
	Plugin  string   `json:"plugin,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Victims []string `json:"victims,omitempty"`
	Binds   []string `json:"binds,omitempty"`
}

type verdict struct {
	ID        string    `json:"id"`
	Wrong     []finding `json:"wrong,omitempty"`
	Missed    []finding `json:"missed,omitempty"`
	Unmoved   []finding `json:"unmoved,omitempty"`
	Unstarted []finding `json:"unstarted,omitempty"`
	Refused   []string  `json:"refused,omitempty"`
	Errors    []string  `json:"errors,omitempty"`
}

const mostLineBytes = 64 << 20

func judge(ctx context.Context, line []byte) (out verdict) {
	var in state
	if err := json.Unmarshal(line, &in); err != nil {
		return verdict{Errors: []string{err.Error()}}
	}
	out.ID = in.ID
	defer func() {
		if problem := recover(); problem != nil {
			out.Errors = append(out.Errors, fmt.Sprintf("panic: %v", problem))
		}
	}()
	world, refused, err := newWorld(ctx, in.Objects)
	out.Refused = refused
	if err != nil {
		out.Errors = append(out.Errors, err.Error())
	}
	if len(out.Refused) > 0 || len(out.Errors) > 0 {
		return out
	}
	defer world.close()
	for first, last := 0, 0; first < len(in.Steps); first = last {
		for last = first + 1; last < len(in.Steps) && in.Steps[first].Start != "" && in.Steps[last].Start == in.Steps[first].Start; {
			last++
		}
		wrong, err := world.takeTogether(in.Steps[first:last])
		if err != nil {
			out.Errors = append(out.Errors, err.Error())
			return out
		}
		out.Wrong = append(out.Wrong, wrong...)
	}
	for _, pod := range in.Waits {
		room, err := world.room(pod)
		if err != nil {
			out.Errors = append(out.Errors, err.Error())
		} else if room != nil && len(room.Victims) == 0 {
			out.Missed = append(out.Missed, *room)
		} else if room != nil {
			out.Unmoved = append(out.Unmoved, *room)
		}
	}
	for _, of := range in.Gangs {
		steps, err := world.wholeGang(of)
		if err != nil {
			out.Errors = append(out.Errors, err.Error())
		} else if steps != nil {
			one := finding{Pod: of.Name}
			for _, s := range steps {
				one.Binds = append(one.Binds, s.Pod+" to "+s.Node)
			}
			out.Unstarted = append(out.Unstarted, one)
		}
	}
	return out
}

func main() {
	if err := utilfeature.DefaultMutableFeatureGate.Set(gates); err != nil {
		fmt.Fprintln(os.Stderr, "kube-oracle: feature gates:", err)
		os.Exit(2)
	}
	klog.SetOutput(io.Discard) // plugins log what they refuse, too
	quiet := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(quiet)
	quiet.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	ctx := context.Background()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 0, 1<<20), mostLineBytes)
	type job struct {
		line   []byte
		answer chan verdict
	}
	jobs := make(chan job)
	order := make(chan chan verdict, 256)
	var workers sync.WaitGroup
	// Informers poll while they begin, so that more states than cores are under way.
	for i := 0; i < 8*runtime.NumCPU(); i++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for j := range jobs {
				j.answer <- judge(ctx, j.line)
			}
		}()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		writer := bufio.NewWriter(os.Stdout)
		for answer := range order {
			text, _ := json.Marshal(<-answer)
			writer.Write(text)
			writer.WriteByte('\n')
			if len(order) == 0 {
				writer.Flush()
			}
		}
		writer.Flush()
	}()
	for lines.Scan() {
		j := job{append([]byte(nil), lines.Bytes()...), make(chan verdict, 1)}
		order <- j.answer
		jobs <- j
	}
	close(jobs)
	workers.Wait()
	close(order)
	<-done
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "kube-oracle: standard input:", err)
		os.Exit(2)
	}
}
