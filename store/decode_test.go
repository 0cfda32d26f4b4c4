package store

import (
	"errors"
	"strings"
	"testing"
)

func TestDecodeNamesDamagedRecord(t *testing.T) {
	var v struct{ Name string }
	if err := (Record{Key: "host/a.example", Value: []byte(`{"name":"a"}`)}).Decode(&v); err != nil || v.Name != "a" {
		t.Errorf("%+v, error %v", v, err)
	}
	err := Record{Key: "host/a.example", Value: []byte("{")}.Decode(&v)
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "read host/a.example:") {
		t.Errorf("error %v", err)
	}
}
