package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// wrongType matches the decoder's error for a value of the wrong type, which names types of Go.
var wrongType = regexp.MustCompile(`cannot decode TOML (inline table|\w+) into (?:struct field \S+ of type )?(?:a Go value of type )?(\S+)`)

// typeWords are the words for types of TOML and of Go.
var typeWords = map[string]string{
	"string": "a text in quotes", "integer": "a whole number", "int": "a whole number", "int64": "a whole number", "float": "a number", "float64": "a number", "boolean": "true or false", "bool": "true or false",
	"array": "a list", "[]string": "a list of texts", "config.Duration": `a time such as "30s"`, "table": "a table", "inline table": "a table",
}

// maxFaults is the number of wrong values that one reading of a file names.
const maxFaults = 100

// A fault is what is wrong in a line of the file.
type fault struct {
	row int
	err error
}

// decodeTOML reads TOML strictly. It returns each unknown key and each wrong value with its line, in the
// order of the lines. The error is a line that is no TOML, which ends the reading.
func (c *Config) decodeTOML(file string, text []byte) ([]error, error) {
	lines := strings.Split(string(text), "\n")
	places, whole := findKeys(text)
	names := map[[2]int]string{}
	for _, p := range places {
		names[[2]int{p.row, p.column}] = p.name
	}
	var faults []fault
	for rest := lines; ; {
		err := toml.NewDecoder(strings.NewReader(strings.Join(rest, "\n"))).DisallowUnknownFields().EnableUnmarshalerInterface().Decode(c)
		var strict *toml.StrictMissingError
		var wrong *toml.DecodeError
		switch {
		case errors.As(err, &strict): // before the other, which it contains
			for _, e := range strict.Errors {
				row, column := e.Position()
				name := cmp.Or(names[[2]int{row, column}], strings.Join(e.Key(), "."))
				faults = append(faults, fault{row, fmt.Errorf("%s:%d:%d: %w\n%d| %s", file, row, column, describeUnknownKey(name), row, lines[row-1])})
			}
		case errors.As(err, &wrong):
			row, column := wrong.Position()
			faults = append(faults, fault{row, describeWrongValue(file, row, column, wrong, lines)})
			// The decoder stops at a wrong value: the others are found without it.
			if rest = withoutKey(rest, places, row); whole && rest != nil && len(faults) < maxFaults {
				continue
			}
			return nil, joinFaults(faults)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		break
	}
	c.recordLines(file, places)
	if len(faults) == 0 {
		return nil, nil
	}
	return []error{joinFaults(faults)}, nil
}

// joinFaults returns the faults in the order of their lines.
func joinFaults(faults []fault) error {
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.row, b.row) })
	var all []error
	for _, f := range faults {
		all = append(all, f.err)
	}
	return errors.Join(all...)
}

// describeWrongValue describes a value of the wrong type, a repeated key or a broken line, and shows the
// line.
func describeWrongValue(file string, row, column int, wrong *toml.DecodeError, lines []string) error {
	problem := strings.TrimPrefix(wrong.Error(), "toml: ")
	if wanted := wrongType.FindStringSubmatch(problem); wanted != nil {
		problem = fmt.Sprintf("want %s, not %s", cmp.Or(typeWords[wanted[2]], "a table"), cmp.Or(typeWords[wanted[1]], wanted[1]))
	} else if advice := adviseValue(problem, lines[row-1]); advice != "" {
		problem = advice
	}
	return fmt.Errorf("%s:%d:%d: %s\n%d| %s", file, row, column, problem, row, lines[row-1])
}

// withoutKey returns the lines without the key that has the given one; nil if a table begins there.
func withoutKey(lines []string, places []keyPlace, row int) []string {
	next, at := len(lines)+1, -1
	for i, p := range places {
		if p.inline {
			continue
		}
		if p.row > row {
			next = p.row
			break
		}
		at = i
	}
	if at < 0 || places[at].table {
		return nil
	}
	lines = slices.Clone(lines)
	for i := places[at].row; i < next; i++ {
		lines[i-1] = ""
	}
	return lines
}

// adviseValue says how to write a value that the decoder cannot read; "" if its own message has to do.
func adviseValue(message, line string) string {
	if !strings.Contains(message, "at start of value") {
		return ""
	}
	if strings.ContainsAny(line, "“”„‟«»‘’") {
		return `a text needs straight quotation marks: key = "text"`
	}
	return `a text needs quotation marks, key = "text"; other values are numbers, true, false and lists in brackets`
}
