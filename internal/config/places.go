package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// recordLines records the line of each key of a file that was decoded.
func (c *Config) recordLines(file string, text []byte) {
	if c.places == nil {
		return
	}
	var p unstable.Parser
	p.Reset(text)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.Table {
			name, _ := nameOfKey(&p, e)
			table = name + "."
			continue
		}
		c.recordKey(&p, file, table, e)
	}
}

// recordKey records the line of a key, and those of the keys in an inline table.
func (c *Config) recordKey(p *unstable.Parser, file, table string, e *unstable.Node) {
	name, line := nameOfKey(p, e)
	c.places[table+name] = fmt.Sprintf("%s:%d", file, line)
	if e.Value().Kind != unstable.InlineTable {
		return
	}
	for members := e.Value().Children(); members.Next(); {
		c.recordKey(p, file, table+name+".", members.Node())
	}
}

// nameOfKey returns the name of a key or table, with its dots, and its line.
func nameOfKey(p *unstable.Parser, e *unstable.Node) (name string, line int) {
	var words []string
	for key := e.Key(); key.Next(); {
		words = append(words, string(key.Node().Data))
		line = p.Shape(key.Node().Raw).Start.Line
	}
	return strings.Join(words, "."), line
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
