package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the program knows of how it was made.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildInfo() build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print how this program was built",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := buildInfo()
			if a.json {
				return writeJSON(a.out, b)
			}
			fmt.Fprintf(a.out, "gazetteer %s (%s, %s)\n", b.Version, b.Go, b.Platform)
			if b.Revision != "" {
				changed := ""
				if b.Modified {
					changed = ", with local changes"
				}
				fmt.Fprintf(a.out, "revision %s of %s%s\n", b.Revision, b.Time, changed)
			}
			return nil
		},
	}
}
