package config

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestRenamedKeysAreReported checks the file, the environment and the settings.
func TestRenamedKeysAreReported(t *testing.T) {
	known := listKeys(reflect.TypeFor[Config](), "")
	for _, pair := range renamedKeys() {
		old, name := pair[0], pair[1]
		t.Run(old, func(t *testing.T) {
			if !slices.Contains(known, name) {
				t.Fatalf("%s is no key", name)
			}
			if slices.Contains(known, old) {
				t.Fatalf("%s is still a key", old)
			}
			table, key, _ := strings.Cut(old, ".")
			file := t.TempDir() + "/c.toml"
			if err := os.WriteFile(file, []byte("["+table+"]\n"+key+" = 1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, inFile := Load(file, nil, nil)
			_, inEnvironment := Load("", []string{"GAZETTEER_" + strings.ToUpper(table+"_"+key) + "=1"}, nil)
			_, inSettings := Load("", nil, []string{old + "=1"})
			for place, err := range map[string]error{"file": inFile, "environment": inEnvironment, "settings": inSettings} {
				if err == nil || !strings.Contains(err.Error(), `"`+old+`" is called "`+name+`" now`) {
					t.Errorf("%s: got %v", place, err)
				}
			}
		})
	}
}

// TestUnknownKeysAreExplained checks that a misspelled table and a key without its table name what is
// meant.
func TestUnknownKeysAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"[craler]\nrate = 1.0\n":               `unknown key "craler": did you mean crawler?`,
		"rate = 1.0\n":                         `unknown key "rate": did you mean crawler.rate?`,
		"crawler = { ratte = 1.0 }\n":          `unknown key "crawler.ratte": did you mean crawler.rate?`,
		"[api]\nadmission = \"closed\"\n":      `unknown key "api.admission": did you mean registry.admission?`,
		"[api]\nnothing_of_this_kind = true\n": `unknown key "api.nothing_of_this_kind"; config.toml lists every key`,
	} {
		file := t.TempDir() + "/c.toml"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file, nil, nil); err == nil || !strings.Contains(err.Error(), want+"\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
