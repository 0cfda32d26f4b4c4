// Package version says how the running program was built.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Info is what the program knows of how it was made.
type Info struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read returns what the running program knows of its build.
func Read() Info {
	b := Info{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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

// Name names the program with its version, and with the commit if that is known.
func (b Info) Name() string {
	if b.Revision == "" {
		return "Gazetteer " + b.Version
	}
	return "Gazetteer " + b.Version + " (commit " + b.Revision + ")"
}

// Describe describes the build of a program in two lines: version, commit and date.
func (b Info) Describe(program string) string {
	text := fmt.Sprintf("%s %s (%s, %s)\n", program, b.Version, b.Go, b.Platform)
	if b.Revision == "" {
		return text + "built without version control: commit and date are not known\n"
	}
	changed := ""
	if b.Modified {
		changed = ", with local changes"
	}
	return text + fmt.Sprintf("commit %s of %s%s\n", b.Revision, b.Time, changed)
}
