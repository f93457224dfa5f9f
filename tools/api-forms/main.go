// The two forms in which the API server tells objects: JSON, and protobuf.
//
//	api-forms table            prints src/kube/protobuf_types.cc, before its layout
//	api-forms objects SEED N   prints N random Pods and as many Nodes in both forms, encoded by the API server's own code
//
// An object is two texts, the protobuf in its envelope and the JSON without managedFields (which Berth leaves out). Before each stands its
// length, four bytes, big end first.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
)

func run(arguments []string) error {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	switch {
	case len(arguments) == 1 && arguments[0] == "table":
		return printTable(out)
	case len(arguments) == 3 && arguments[0] == "objects":
		seed, err := strconv.ParseInt(arguments[1], 10, 64)
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(arguments[2])
		if err != nil {
			return err
		}
		return printObjects(out, seed, count)
	}
	return fmt.Errorf("usage: api-forms table | api-forms objects SEED N")
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "api-forms:", err)
		os.Exit(1)
	}
}
