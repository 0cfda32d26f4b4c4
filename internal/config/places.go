package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A keyPlace is where a key or a table is named in a file.
type keyPlace struct {
	name        string // with the names of its tables
	row, column int
	table       bool // it begins a table
	inline      bool // it is in an inline table
}

// findKeys returns the keys and tables of a file, in their order, and whether all of it is TOML.
func findKeys(text []byte) (places []keyPlace, whole bool) {
	var p unstable.Parser
	p.Reset(text)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.KeyValue {
			places = appendKey(places, &p, table, e, false)
			continue
		}
		place := locateKey(&p, e)
		place.table, table = true, place.name+"."
		places = append(places, place)
	}
	return places, p.Error() == nil
}

// appendKey appends a key, and those in its inline table.
func appendKey(places []keyPlace, p *unstable.Parser, table string, e *unstable.Node, inline bool) []keyPlace {
	place := locateKey(p, e)
	place.name, place.inline = table+place.name, inline
	places = append(places, place)
	if e.Value().Kind == unstable.InlineTable {
		for members := e.Value().Children(); members.Next(); {
			places = appendKey(places, p, place.name+".", members.Node(), true)
		}
	}
	return places
}

// locateKey returns the name of a key or table, with its dots, and where it begins.
func locateKey(p *unstable.Parser, e *unstable.Node) keyPlace {
	var words []string
	var place keyPlace
	for key := e.Key(); key.Next(); {
		if at := p.Shape(key.Node().Raw).Start; len(words) == 0 {
			place.row, place.column = at.Line, at.Column
		}
		words = append(words, string(key.Node().Data))
	}
	place.name = strings.Join(words, ".")
	return place
}

// recordLines records the line of each key of a file.
func (c *Config) recordLines(file string, places []keyPlace) {
	if c.places == nil {
		return
	}
	for _, p := range places {
		if !p.table {
			c.places[p.name] = fmt.Sprintf("%s:%d", file, p.row)
		}
	}
}

// Locate puts the place that sets a key before each error about this key: "config.toml:12: ". The message
// of such an error begins with its key, or with several keys.
func (c Config) Locate(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		located := slices.Clone(joined.Unwrap())
		for i := range located {
			located[i] = c.Locate(located[i])
		}
		return errors.Join(located...)
	}
	if err == nil {
		return nil
	}
	subject, _, _ := strings.Cut(err.Error(), ": ")
	var places []string
	for word := range strings.FieldsSeq(subject) {
		place := c.places[strings.TrimRight(word, ",")]
		if place != "" && !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	if len(places) == 0 {
		return err
	}
	return fmt.Errorf("%s: %w", strings.Join(places, ", "), err)
}
