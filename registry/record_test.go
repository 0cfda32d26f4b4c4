package registry

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"
)

// TestStoredBytesAreStable compares the bytes of an entry that has every member with those that earlier
// versions wrote: an entry is a leaf of the transparency log, so equal entries must give equal bytes.
func TestStoredBytesAreStable(t *testing.T) {
	var e HistoryEntry
	n := 0
	fillAll(reflect.ValueOf(&e).Elem(), &n)
	got, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/entry.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("an entry is written as\n%s\nwant\n%s", got, want)
	}
	var back HistoryEntry
	if err := json.Unmarshal(want, &back); err != nil || !reflect.DeepEqual(back, e) {
		t.Errorf("it is read as %+v, %v", back, err)
	}
}

// TestEntriesOfEarlierVersionsKeepTheirBytes reads entries that earlier versions wrote with every
// member they knew, and writes them again: a member that was added since must not show.
func TestEntriesOfEarlierVersionsKeepTheirBytes(t *testing.T) {
	for _, name := range []string{"entry-1.json", "entry-2.json", "entry-3.json", "entry-4.json", "entry-5.json", "entry-6.json"} {
		want, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var e HistoryEntry
		if err := json.Unmarshal(want, &e); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != string(want) {
			t.Errorf("%s is written as\n%s\nwant\n%s", name, got, want)
		}
	}
}

// fillAll sets every member of v to a value that depends on its place, n, alone.
func fillAll(v reflect.Value, n *int) {
	*n++
	texts := []string{"plain", `"quoted\"`, "<b>&amp;</b>", "line\nand\ttab\x1f\x7f", "ключ", "\u2028", "𝄞"}
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1700000000+int64(*n), int64(*n%2)*123e6).UTC()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Anonymous {
				*n-- // its members are written as if they stood here
			}
			fillAll(v.Field(i), n)
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem(), n)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillAll(v.Index(i), n)
		}
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range 2 {
			value := reflect.New(v.Type().Elem()).Elem()
			fillAll(value, n)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key %d", i)), value)
		}
	case v.Kind() == reflect.String:
		v.SetString(texts[*n%len(texts)])
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(*n))
	case v.CanUint():
		v.SetUint(uint64(*n % 256))
	case v.CanFloat():
		v.SetFloat(float64(*n) + 0.25)
	default:
		panic("no value for a " + v.Type().String())
	}
}
