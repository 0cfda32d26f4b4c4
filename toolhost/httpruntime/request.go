package httpruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/protocol/agis/agishttp"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// canCall reports whether the operation of a pin can be called over HTTPS.
func canCall(pin *toolhost.Pin) bool {
	address, err := addressOf(pin)
	return err == nil && strings.HasPrefix(address, "https://")
}

// addressOf returns the address of the operation of a pin, with {name} in place of each parameter of
// its path: over AGTP that of the HTTP binding.
func addressOf(pin *toolhost.Pin) (string, error) {
	if pin.Copy.Call.Protocol == "agtp" {
		return call.HTTPBinding(pin.Copy)
	}
	return pin.Copy.Call.URL, nil
}

// placeholder is a parameter in the path of an operation: {name}, or :name behind a slash.
var placeholder = regexp.MustCompile(`\{([A-Za-z0-9_.-]+)\}|/:([A-Za-z_][A-Za-z0-9_-]*)`)

// NewRequest makes the request of a call. Parameters go into the path by name; of the others those of
// GET, HEAD and DELETE into the query and the rest into a JSON body, unless the document says where. An
// operation over AGTP is called over the HTTP binding of AGIS (section 10.1).
func NewRequest(ctx context.Context, pin *toolhost.Pin, parameters json.RawMessage) (*http.Request, error) {
	v, err := altar.ReadValue(parameters)
	if err != nil {
		return nil, err
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the parameters are no object")
	}
	address, err := addressOf(pin)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be called: %w", pin.Operation, err)
	}
	scheme, rest, found := strings.Cut(address, "://")
	if !found || scheme != "https" {
		return nil, fmt.Errorf("%s is not called over HTTPS", pin.Operation)
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	used := map[string]bool{}
	var missing []string
	path = placeholder.ReplaceAllStringFunc(path, func(part string) string {
		prefix, name := "", strings.Trim(part, "{}")
		if strings.HasPrefix(part, "/:") {
			prefix, name = "/", part[2:]
		}
		value, there := members[name]
		text, plain := plainText(value)
		if !there || !plain || text == "" || text == "." || text == ".." {
			missing = append(missing, name)
			return part
		}
		used[name] = true
		return prefix + url.PathEscape(text)
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("the address needs %s", strings.Join(missing, ", "))
	}
	target, err := url.Parse("https://" + authority + path)
	if err != nil || target.User != nil || target.Hostname() == "" {
		return nil, fmt.Errorf("%s is no address that can be called", address)
	}
	method, overAGTP := strings.ToUpper(pin.Copy.Call.Method), pin.Copy.Call.Protocol == "agtp"
	if overAGTP {
		method = http.MethodPost // AGIS 10.1: it governs the transport alone
	}
	for name := range used {
		delete(members, name)
	}
	query, body := splitParameters(pin, method, members)
	for name, values := range target.Query() {
		query[name] = append(values, query[name]...)
	}
	target.RawQuery = query.Encode()
	var content io.Reader
	mediaType := call.BodyType(pin.Copy)
	if len(body) > 0 || method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch {
		text := altar.AppendValue(nil, body)
		switch mediaType {
		case call.FormType:
			text = []byte(formValues(body).Encode())
		case call.MultipartType:
			if text, mediaType, err = writeForm(formValues(body), pin.Copy.Parameters); err != nil {
				return nil, err
			}
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if content != nil {
		request.Header.Set("Content-Type", mediaType)
	}
	if overAGTP {
		request.Header.Set(agishttp.MethodHeader, pin.Copy.Verb)
		request.Header.Set(agishttp.GrammarHeader, agishttp.Grammar)
		if pin.Namespace != "" {
			request.Header.Set(agishttp.NamespaceHeader, pin.Namespace)
		}
	}
	return request, nil
}

// splitParameters says which parameters go into the query and which into the body: where the document
// says, or else those of GET, HEAD and DELETE into the query and the others into the body.
func splitParameters(pin *toolhost.Pin, method string, members map[string]any) (query url.Values, body map[string]any) {
	query, body = url.Values{}, map[string]any{}
	standard := "body"
	if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete}, method) {
		standard = "query"
	}
	for name, value := range members {
		in := standard
		for _, p := range pin.Copy.Parameters {
			if p.Name == name && p.In != "" {
				in = p.In
			}
		}
		if in == "body" {
			body[name] = value
			continue
		}
		addPlain(query, name, value)
	}
	return query, body
}

// formValues returns the parameters of a form.
func formValues(body map[string]any) url.Values {
	form := url.Values{}
	for name, value := range body {
		addPlain(form, name, value)
	}
	return form
}

// writeForm writes a form with a part for each value, in the order of names. The value of a parameter that
// is a file is its content.
func writeForm(form url.Values, parameters []document.Parameter) (text []byte, mediaType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(form)) {
		create := w.CreateFormField
		if slices.ContainsFunc(parameters, func(p document.Parameter) bool { return p.Name == name && call.IsFile(p) }) {
			create = func(name string) (io.Writer, error) { return w.CreateFormFile(name, name) }
		}
		for _, value := range form[name] {
			part, err := create(name)
			if err != nil {
				return nil, "", err
			}
			if _, err := io.WriteString(part, value); err != nil {
				return nil, "", err
			}
		}
	}
	err = w.Close()
	return b.Bytes(), w.FormDataContentType(), err
}

// addPlain adds a parameter to a query or a form: a list as several values, an object as JSON.
func addPlain(values url.Values, name string, value any) {
	list, many := value.([]any)
	if !many {
		list = []any{value}
	}
	for _, each := range list {
		text, plain := plainText(each)
		if !plain {
			text = string(altar.AppendValue(nil, each))
		}
		values.Add(name, text)
	}
}

// plainText writes a value for an address; false for what has no plain form.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case altar.Number:
		return string(v), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}
