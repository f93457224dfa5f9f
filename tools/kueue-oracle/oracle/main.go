// The oracle: what Kueue's own scheduler decides about a case, for cases that nobody has written down. Reads cases in the form of
// ../shared/conformance/kueue (one JSON object per line) from standard input, makes --variants perturbed ones of each (perturb.go), lets
// Kueue decide about each until nothing changes (decide.go), and writes them in the same form, with that as what is expected.
//
//	berth-kueue-oracle --seed 7 --variants 20 < TestSchedule.jsonl > /tmp/cases/perturbed.jsonl
//	BERTH_KUEUE_CASES=/tmp/cases build/release/test_conformance
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"math/rand/v2"
	"os"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

const mostBytes = 16 << 20 // of one case

// On by default in the Kueue that the cases are of (0.20), off in the pinned one.
const gatesOn = "RecomputeAssignmentUponPreemptionTargetsOverlap=true"

func main() {
	log.SetFlags(0)
	log.SetPrefix("berth-kueue-oracle: ")
	seed := flag.Uint64("seed", 1, "of the perturbations")
	variants := flag.Int("variants", 0, "perturbed cases of each case; 0: the cases as they are")
	times := flag.Int("times", 1, "Kueue decides each case so many times; all that it decides is written")
	flag.Parse()
	if err := utilfeature.DefaultMutableFeatureGate.Set(gatesOn); err != nil {
		log.Fatal(err)
	}

	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), mostBytes)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	written, left := 0, 0
	for line := 1; in.Scan(); line++ {
		var c Case
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			log.Fatalf("standard input:%d: %v", line, err)
		}
		if !c.applies() {
			left++
			continue
		}
		for i := 0; i < max(1, *variants); i++ {
			world, err := readWorld(c.Objects)
			if err != nil {
				log.Fatalf("standard input:%d: %s: %s: %v", line, c.Suite, c.Name, err)
			}
			of := c
			of.Name = c.Suite + ": " + c.Name
			of.Suite = "AsItIs"
			if *times > 1 { // a case that was made before
				of.Name = c.Name
			}
			if *variants > 0 {
				of.Suite = "Perturbed"
				hash := fnv.New64a()
				fmt.Fprint(hash, c.Suite, "\x00", c.Name, "\x00", i)
				changes := perturb(world, rand.New(rand.NewPCG(*seed, hash.Sum64())))
				of.Name = fmt.Sprintf("%s #%d (%s)", of.Name, i, strings.Join(changes, "; "))
			}
			if err := decideTimes(&of, world, *times); err != nil {
				log.Fatalf("%s: %v", of.Name, err)
			}
			text, err := json.Marshal(of)
			if err != nil {
				log.Fatalf("%s: %v", of.Name, err)
			}
			out.Write(text)
			out.WriteByte('\n')
			written++
		}
	}
	if err := in.Err(); err != nil {
		log.Fatalf("standard input: %v", err)
	}
	log.Printf("%d cases written, %d of the given ones left out (not portable, sensitive to gates, topology, or usage of the past)", written, left)
}
