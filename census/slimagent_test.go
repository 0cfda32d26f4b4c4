package census

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// TestSlimAgentCountsAsTheWhole checks that an agent is counted in /census as by the folder: with every
// member of its record set, and with each of them missing. A signal that reads a member which slimAgent
// leaves out fails here.
func TestSlimAgentCountsAsTheWhole(t *testing.T) {
	at := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	whole := func() registry.Agent {
		var a registry.Agent
		fillValue(reflect.ValueOf(&a).Elem(), at.Add(-time.Hour))
		a.Status, a.Created, a.KeySince = registry.Active, at.Add(-10*24*time.Hour), at.Add(-90*24*time.Hour)
		a.Imported = at.Add(-60 * 24 * time.Hour)
		a.Domains[0].Withdrawn = time.Time{}
		observation := a.Observed["x"]
		for _, signal := range registry.Signals() {
			a.Observed[signal] = observation
		}
		a.ServiceEndpoints[0].Type = did.TypeInbox
		observation.Source = "https://" + a.Domains[0].Name + "/.well-known/agis.json"
		a.Observed[registry.SignalAGIS] = observation
		return a
	}
	count := func(a registry.Agent) AgentFigures {
		b := newFigureBuilder(at)
		b.addAgent(&a)
		return b.buildFigures().Agents
	}
	a := whole()
	if f := count(a); f.Active != 1 || f.Strength[len(registry.Signals())] != 1 {
		t.Fatalf("the agent of this test does not hold every signal: %+v", f)
	}
	compare := func(what string, a registry.Agent) {
		t.Helper()
		if want, got := count(a), count(slimAgent(&a)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	compare("with every member", a)
	for i := range reflect.TypeFor[registry.Agent]().NumField() {
		a := whole()
		reflect.ValueOf(&a).Elem().Field(i).SetZero()
		compare("without "+reflect.TypeFor[registry.Agent]().Field(i).Name, a)
	}
	for i := range reflect.TypeFor[registry.Domain]().NumField() {
		a := whole()
		reflect.ValueOf(&a.Domains[0]).Elem().Field(i).SetZero()
		compare("a domain without "+reflect.TypeFor[registry.Domain]().Field(i).Name, a)
	}
	for i := range reflect.TypeFor[registry.Observation]().NumField() {
		a := whole()
		for signal, o := range a.Observed {
			reflect.ValueOf(&o).Elem().Field(i).SetZero()
			a.Observed[signal] = o
		}
		compare("observations without "+reflect.TypeFor[registry.Observation]().Field(i).Name, a)
	}
	a = whole()
	a.Imported = at.Add(-time.Hour)
	compare("imported lately", a)
	a = whole()
	a.Domains[0].Withdrawn = at
	compare("a withdrawn domain", a)
}

// fillValue sets every exported member, with one element in each list and map.
func fillValue(v reflect.Value, at time.Time) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(at))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fillValue(v.Field(i), at)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), at)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), at)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillValue(key, at)
		fillValue(value, at)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	default:
		panic(fmt.Sprintf("a member of type %s", v.Type()))
	}
}
