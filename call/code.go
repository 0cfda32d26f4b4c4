package call

import (
	"fmt"
	"strings"
)

// Python returns a program that calls the operation with Python's standard library. Like
// [How.Curl], it has {name} for each value to fill in, and is false for an operation that HTTP
// cannot call. Every text of the document is a string literal of ASCII characters.
func (h How) Python() (program string, ok bool) {
	r, ok := h.sampleRequest()
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString("import urllib.request\n\n")
	if len(r.fields) > 0 {
		b.WriteString(pythonForm(r.fields))
		r.headers = append(r.headers, [2]string{"Content-Type", MultipartType + "; boundary=" + formBoundary})
	}
	b.WriteString("request = urllib.request.Request(\n")
	fmt.Fprintf(&b, "    %s,\n", quoteLiteral(r.address))
	if r.method != "GET" {
		fmt.Fprintf(&b, "    method=%s,\n", quoteLiteral(r.method))
	}
	if len(r.headers) > 0 {
		fmt.Fprintf(&b, "    headers={%s},\n", formatHeaders(r.headers))
	}
	if r.body != "" {
		fmt.Fprintf(&b, "    data=%s.encode(),\n", quoteLiteral(r.body))
	} else if len(r.fields) > 0 {
		b.WriteString("    data=body,\n")
	}
	b.WriteString(")\nwith urllib.request.urlopen(request) as answer:\n    print(answer.read().decode())\n")
	return b.String(), true
}

// JavaScript returns a program that calls the operation with fetch, as a module for browsers or
// Node.js. It has the same properties as that of [How.Python].
func (h How) JavaScript() (program string, ok bool) {
	r, ok := h.sampleRequest()
	if !ok {
		return "", false
	}
	var b strings.Builder
	if len(r.fields) > 0 {
		b.WriteString(javaScriptForm(r.fields))
	}
	fmt.Fprintf(&b, "const address = %s\nconst answer = await fetch(address", quoteLiteral(r.address))
	if r.method != "GET" || len(r.headers) > 0 || r.body != "" || len(r.fields) > 0 {
		b.WriteString(", {\n")
		if r.method != "GET" {
			fmt.Fprintf(&b, "  method: %s,\n", quoteLiteral(r.method))
		}
		if len(r.headers) > 0 {
			fmt.Fprintf(&b, "  headers: {%s},\n", formatHeaders(r.headers))
		}
		if r.body != "" {
			fmt.Fprintf(&b, "  body: %s,\n", quoteLiteral(r.body))
		} else if len(r.fields) > 0 {
			b.WriteString("  body: form,\n")
		}
		b.WriteString("}")
	}
	b.WriteString(")\nconsole.log(await answer.text())\n")
	return b.String(), true
}

// formBoundary separates the parts of a form in programs that write it themselves.
const formBoundary = "----part-of-the-form"

// pythonForm returns statements that set body to a form with parts: Python's standard library has no
// function for it.
func pythonForm(fields []formField) string {
	var b strings.Builder
	b.WriteString("body = b\"\"\nfor field, value in [\n")
	for _, f := range fields {
		field, value := `name="`+f.name+`"`, quoteLiteral(f.value)+".encode()"
		if f.file {
			field += `; filename="` + f.name + `"`
			value = "open(" + quoteLiteral(f.value) + ", \"rb\").read()"
		}
		fmt.Fprintf(&b, "    (%s, %s),\n", quoteLiteral(field), value)
	}
	fmt.Fprintf(&b, "]:\n    body += (\"--%s\\r\\nContent-Disposition: form-data; \" + field + \"\\r\\n\\r\\n\").encode() + value + b\"\\r\\n\"\n", formBoundary)
	fmt.Fprintf(&b, "body += b\"--%s--\\r\\n\"\n\n", formBoundary)
	return b.String()
}

// javaScriptForm returns statements that set form to a form with parts.
func javaScriptForm(fields []formField) string {
	var b strings.Builder
	b.WriteString("const form = new FormData()\n")
	for _, f := range fields {
		if f.file {
			fmt.Fprintf(&b, "form.append(%s, new Blob([%s]), %s) // the content of the file\n", quoteLiteral(f.name), quoteLiteral(f.value), quoteLiteral(f.name))
			continue
		}
		fmt.Fprintf(&b, "form.append(%s, %s)\n", quoteLiteral(f.name), quoteLiteral(f.value))
	}
	return b.String()
}

// formatHeaders returns headers as the content of a dictionary of Python or an object of JavaScript.
func formatHeaders(headers [][2]string) string {
	pairs := make([]string, len(headers))
	for i, h := range headers {
		pairs[i] = quoteLiteral(h[0]) + ": " + quoteLiteral(h[1])
	}
	return strings.Join(pairs, ", ")
}

// quoteLiteral returns a text as a string literal that is valid in Python and JavaScript: in double
// quotes, with \uXXXX for each character that is not printable ASCII. It omits characters above
// U+FFFF, which the two languages write differently.
func quoteLiteral(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case ' ' <= r && r <= '~':
			b.WriteRune(r)
		case r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
