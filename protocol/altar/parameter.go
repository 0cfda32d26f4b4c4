package altar

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A ParameterSchema describes one parameter of a tool (section 4.3).
type ParameterSchema struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	// Properties are the members of an object, or of each object of an array[object]. Nil leaves the
	// members open; an empty list allows none.
	Properties []ParameterSchema `json:"properties,omitzero"`
}

// Limits of a contract.
const (
	maxParameters    = 1000 // of a contract, nested ones included
	maxNesting       = 16
	maxParameterName = 128
)

// checkSchemas checks the parameters of a contract; path is where they stand.
func checkSchemas(schemas []ParameterSchema, path string, depth int, count *int) error {
	if depth > maxNesting {
		return fmt.Errorf("%s: parameters nest deeper than %d levels", path, maxNesting)
	}
	names := map[string]bool{}
	for i, s := range schemas {
		at := fmt.Sprintf("%s/%d", path, i)
		if *count++; *count > maxParameters {
			return fmt.Errorf("%s: a contract has at most %d parameters", path, maxParameters)
		}
		switch {
		case s.Name == "":
			return fmt.Errorf("%s/name: a parameter needs a name", at)
		case len(s.Name) > maxParameterName:
			return fmt.Errorf("%s/name: longer than %d bytes", at, maxParameterName)
		case names[s.Name]:
			return fmt.Errorf("%s/name: %q is there twice", at, s.Name)
		}
		names[s.Name] = true
		t, err := ParseType(s.Type)
		if err != nil {
			return fmt.Errorf("%s/type: %w", at, err)
		}
		if s.Properties != nil && t.Base != Object {
			return fmt.Errorf("%s/properties: only an object has properties, not %s", at, s.Type)
		}
		if err := checkSchemas(s.Properties, at+"/properties", depth+1, count); err != nil {
			return err
		}
	}
	return nil
}

// A Problem is one thing that is wrong with the parameters of a call.
type Problem struct {
	// Path is a JSON Pointer (RFC 6901) into the parameters.
	Path    string `json:"path"`
	Message string `json:"message"`
}

// maxProblems is how many problems one error lists.
const maxProblems = 20

// ParametersError returns the INVALID_PARAMETERS error for at least one problem. Its details have
// the path of the first problem, and all problems.
func ParametersError(problems []Problem) *Error {
	const maxNamed = 5 // in the text; the details have all
	var texts []string
	for _, p := range problems[:min(len(problems), maxNamed)] {
		texts = append(texts, displayPath(p.Path)+": "+p.Message)
	}
	if more := len(problems) - maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return Errorf(InvalidParameters, "%s", strings.Join(texts, "; ")).With("path", problems[0].Path).With("problems", problems)
}

func displayPath(path string) string {
	if path == "" {
		return "parameters"
	}
	return path
}

// checker collects problems.
type checker struct{ problems []Problem }

func (c *checker) addf(path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{path, fmt.Sprintf(format, args...)})
	}
}

// checkMembers checks the members of an object against their schemas. It replaces a negative zero of an
// integer by 0. extra reports whether a member that no schema names is allowed; nil allows none.
func (c *checker) checkMembers(path string, members map[string]any, schemas []ParameterSchema, extra func(name string) bool) {
	found := 0
	for i := range schemas {
		s := &schemas[i]
		v, there := members[s.Name]
		if !there && !s.Required {
			continue
		}
		at := path + "/" + escapePointer(s.Name)
		if !there {
			c.addf(at, "is missing")
			continue
		}
		found++
		t, err := ParseType(s.Type)
		if err != nil {
			c.addf(at, "%v", err)
			continue
		}
		members[s.Name] = c.checkTyped(at, v, t, s.Properties)
	}
	if found == len(members) { // the names of schemas are unique
		return
	}
	known := make(map[string]bool, len(schemas))
	for i := range schemas {
		known[schemas[i].Name] = true
	}
	for name, v := range members {
		if known[name] {
			continue
		}
		at := path + "/" + escapePointer(name)
		if extra == nil || !extra(name) {
			c.addf(at, "is not a parameter of the contract")
			continue
		}
		c.checkOpen(at, v)
	}
}

// checkTyped checks a value against a type and returns it, with the negative zero of an integer
// replaced by 0.
func (c *checker) checkTyped(path string, v any, t Type, properties []ParameterSchema) any {
	if v == nil {
		c.addf(path, "is null, which no type has: leave the parameter out instead")
		return v
	}
	if t.Arrays > 0 {
		array, ok := v.([]any)
		if !ok {
			c.addf(path, "is %s, want %s", describeValue(v), t)
			return v
		}
		for i := range array {
			array[i] = c.checkTyped(path+"/"+strconv.Itoa(i), array[i], t.elementType(), properties)
		}
		return v
	}
	ok := false
	switch t.Base {
	case String:
		_, ok = v.(string)
	case Boolean:
		_, ok = v.(bool)
	case Integer:
		return c.checkInteger(path, v)
	case Float:
		n, isNumber := v.(Number)
		if ok = isNumber; ok {
			if f, err := strconv.ParseFloat(string(n), 64); err != nil || math.IsInf(f, 0) {
				c.addf(path, "is beyond the range of a 64-bit float")
			}
		}
	case Binary:
		text, isText := v.(string)
		if ok = isText; ok {
			// The decoder of the library skips line ends.
			if _, err := base64.StdEncoding.Strict().DecodeString(text); err != nil || strings.ContainsAny(text, "\r\n") {
				c.addf(path, "is not base64 (RFC 4648 section 4, with padding, without spaces)")
			}
		}
	case Object:
		members, isObject := v.(map[string]any)
		if ok = isObject; ok && properties == nil {
			c.checkOpen(path, v)
		} else if ok {
			c.checkMembers(path, members, properties, nil)
		}
	}
	if !ok {
		c.addMismatch(path, v, t)
	}
	return v
}

// maxShownValue is the length of the longest value that a problem shows in its right form.
const maxShownValue = 40

// addMismatch adds the problem of a value of another type. If only its quotation marks are wrong, it
// shows the right form.
func (c *checker) addMismatch(path string, v any, t Type) {
	hint := ""
	switch text := fmt.Sprint(v); v.(type) {
	case string:
		var value any
		if len(text) > maxShownValue || json.Unmarshal([]byte(text), &value) != nil {
			break
		}
		_, isNumber := value.(float64)
		_, isBool := value.(bool)
		if isNumber && (t.Base == Float || t.Base == Integer && !strings.ContainsAny(text, ".eE")) || isBool && t.Base == Boolean {
			hint = "; write " + text + ", without quotation marks"
		}
	case Number, bool:
		if t.Base == String && len(text) <= maxShownValue {
			hint = `; write "` + text + `", in quotation marks`
		}
	}
	c.addf(path, "is %s, want %s%s", describeValue(v), t, hint)
}

func (c *checker) checkInteger(path string, v any) any {
	n, ok := v.(Number)
	if !ok {
		c.addMismatch(path, v, Type{Base: Integer})
		return v
	}
	if strings.ContainsAny(string(n), ".eE") {
		c.addf(path, "is %.40s, want an integer without fraction or exponent", n)
		return v
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	switch {
	case err != nil:
		c.addf(path, "is %.40s, which is beyond 64 bits", n)
	case i == 0:
		return Number("0")
	}
	return v
}

// checkOpen refuses null in a value that no schema describes.
func (c *checker) checkOpen(path string, v any) {
	switch v := v.(type) {
	case nil:
		c.addf(path, "is null, which no type has")
	case map[string]any:
		for name, member := range v {
			c.checkOpen(path+"/"+escapePointer(name), member)
		}
	case []any:
		for i, element := range v {
			c.checkOpen(path+"/"+strconv.Itoa(i), element)
		}
	}
}

func describeValue(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case Number:
		return "a number"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}

func escapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
