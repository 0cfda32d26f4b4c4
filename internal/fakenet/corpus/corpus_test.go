package corpus

import "testing"

func TestServices(t *testing.T) {
	services := 0
	for s, err := range Services(Directory("../../..")) {
		if err != nil {
			t.Fatal(err)
		}
		if s.ID == "" || s.Name == "" || len(s.Operations) == 0 || s.Operations[0].Method == "" {
			t.Fatalf("service %d: %+v", services, s)
		}
		if services++; services == 50 {
			break // decoding all of them takes seconds
		}
	}
	if services != 50 {
		t.Errorf("read %d services, want 50", services)
	}
	for s, err := range Services(Directory(t.TempDir())) {
		if err == nil {
			t.Errorf("a folder without the directory has the service %q", s.ID)
		}
	}
}
