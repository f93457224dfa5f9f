// The Go that builds the control plane where the machine's own is older than 1.26 (Debian 12 has 1.19). The Go module
// proxy serves Go itself as a module, one version per platform; go.sum beside this file holds the checksums, which the
// go command that downloads it checks. scripts/control-plane reads the version from here.
module berth.dev/tools/control-plane/go-toolchain

go 1.19

require golang.org/toolchain v0.0.1-go1.26.8.linux-amd64
