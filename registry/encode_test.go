package registry

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestEncodeAsMarshal: agents and entries with any of their members set, alone
// and together, are written as json.Marshal writes them. A member that is added
// to one of them and forgotten in the encoder fails here.
func TestEncodeAsMarshal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(a Agent, e Entry) {
		t.Helper()
		same(t, a, func() ([]byte, error) { return EncodeAgent(&a) })
		same(t, e, func() ([]byte, error) { return encodeEntry(&e, e.Agent) })
	}
	check(Agent{}, Entry{})
	for i := range reflect.TypeFor[Agent]().NumField() {
		var a Agent
		fill(reflect.ValueOf(&a).Elem().Field(i), random, 0)
		check(a, Entry{Agent: &a})
	}
	for i := range reflect.TypeFor[Entry]().NumField() {
		var e Entry
		fill(reflect.ValueOf(&e).Elem().Field(i), random, 0)
		check(Agent{}, e)
	}
	for range 500 {
		var e Entry
		fill(reflect.ValueOf(&e).Elem(), random, 2)
		if e.Agent == nil {
			e.Agent = &Agent{}
		}
		check(*e.Agent, e)
	}
	check(Agent{PublicKey: []byte{}, Capabilities: []string{}, Observed: map[string]Observation{}, Attested: []int{}, SecretHash: []byte{}}, Entry{Fields: []string{}})
}

func same(t *testing.T, v any, encode func() ([]byte, error)) {
	t.Helper()
	want, wrong := json.Marshal(v)
	got, err := encode()
	if (err != nil) != (wrong != nil) {
		t.Fatalf("%+v: error %v, json.Marshal says %v", v, err, wrong)
	}
	if err == nil && string(got) != string(want) {
		t.Fatalf("wrote\n%s\nwant\n%s", got, want)
	}
}

var encodeTexts = []string{"a", "plain text", `"quoted\"`, "<b>&amp;</b>", "line\nand\ttab\x00\x1f\x7f", "ключ", "\u2028\u2029", "bad \xff utf-8", "𝄞", "~ "}

// fill sets v to something random that is not its zero value; with odds above 0,
// one in so many members stays as it is.
func fill(v reflect.Value, random *rand.Rand, odds int) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		when := time.Unix(random.Int64N(4e9), random.Int64N(2)*random.Int64N(1e9)).UTC()
		switch random.IntN(12) {
		case 0:
			when = when.In(time.FixedZone("", 3600*random.IntN(14)))
		case 1:
			when = when.AddDate(9000, 0, 0) // may be a year that JSON does not know
		}
		v.Set(reflect.ValueOf(when))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if odds == 0 || random.IntN(odds) > 0 {
				fill(v.Field(i), random, odds)
			}
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), random, odds)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+random.IntN(3), 4))
		for i := range v.Len() {
			fill(v.Index(i), random, odds)
		}
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + random.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, random, 0)
			fill(value, random, odds)
			v.SetMapIndex(key, value)
		}
	case v.Kind() == reflect.String:
		v.SetString(encodeTexts[random.IntN(len(encodeTexts))])
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1 + random.Int64N(1<<40))
	case v.CanUint():
		v.SetUint(1 + random.Uint64N(200))
	case v.CanFloat():
		v.SetFloat(1 + random.Float64()*1e22)
	default:
		panic(fmt.Sprintf("what to put into a %s?", v.Type()))
	}
}
