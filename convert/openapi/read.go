package openapi

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// maxOperations is the highest number of operations that are read.
const maxOperations = 20000

// A description is an OpenAPI description with its operations.
type description struct {
	root        *protocol.Node
	servers     *protocol.Node // in the form of OpenAPI 3; nil when there are none
	schemes     *protocol.Node // the security schemes, in the form of OpenAPI 3
	title       string
	description string
	version     string
	operations  []*operation
	// leftOut lists what no operation contains.
	leftOut []string
	refs    *conversion.References
	// common holds optional parameters that nearly all operations have, by place and name. They
	// belong to the transport.
	common map[string]bool
	// shared holds operationIds that several operations have.
	shared map[string]bool
}

// readOpenAPI reads a description in JSON or YAML.
func readOpenAPI(text []byte) (*description, error) {
	root, err := conversion.ReadText(text)
	if err != nil {
		return nil, fmt.Errorf("read OpenAPI description: %w: %w", protocol.ErrUnreadable, err)
	}
	return newOpenAPI(root)
}

// newOpenAPI reads the tree of a description.
func newOpenAPI(root *protocol.Node) (*description, error) {
	version := root.Member("openapi")
	if v := root.Member("swagger"); version == nil && v != nil {
		version = v
	}
	if version == nil || !tree.IsKind(root, protocol.Object) {
		return nil, fmt.Errorf("read OpenAPI description: %w: %s", protocol.ErrOtherFormat, conversion.IdentifyFormat(root, "openapi"))
	}
	swagger := isSwagger(root)
	if !swagger && !openAPIVersion.MatchString(version.Text) {
		return nil, fmt.Errorf("read OpenAPI description: %w: the member %s is %s; versions 2.0, 3.0, 3.1 and 3.2 can be converted",
			protocol.ErrOtherFormat, version.Key, protocol.Quote(version.Text))
	}
	info := root.Member("info")
	a := &description{
		root: root, servers: root.Member("servers"), schemes: root.Member("components").Member("securitySchemes"),
		title:       wording.DropInstruction(wording.StripMarkup(info.Member("title").Str())),
		description: wording.DropInstruction(wording.StripMarkup(info.Member("description").Str())),
		refs:        conversion.NewReferences(root),
	}
	if swagger {
		a.servers, a.schemes = swaggerServers(root), swaggerSecurity(root)
	}
	if v := info.Member("version"); tree.IsKind(v, protocol.String) || tree.IsKind(v, protocol.Number) {
		a.version = wording.Shorten(wording.OneLine(v.Text), 40)
	}
	if s := wording.DropInstruction(wording.StripMarkup(info.Member("summary").Str())); a.description == "" {
		a.description = s
	}
	if err := a.readPaths(swagger); err != nil {
		return nil, err
	}
	return a, nil
}

var openAPIVersion = regexp.MustCompile(`\A3\.[0-2](?:\.|\z)`)

// httpMethods are the members of a path item that are operations, in the order
// of the specification.
var httpMethods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// maxPath is the length of the longest path that is read, in bytes.
const maxPath = 2000

func (a *description) readPaths(swagger bool) error {
	paths := a.root.Member("paths")
	var skipped []string
	callbacks, beyond := 0, 0
	lib := newLibrary(a.root, a.refs)
	read := lib.readOperation
	if swagger {
		read = func(path, n *protocol.Node) (*operation, error) { return lib.readSwaggerOperation(a.root, path, n) }
	}
	for _, item := range tree.Members(paths) {
		if strings.HasPrefix(item.Key, "x-") {
			continue
		}
		if len(item.Key) > maxPath {
			a.leftOut = append(a.leftOut, "the path "+protocol.Quote(item.Key)+" is left out: it is too long")
			continue
		}
		path := a.refs.Resolve(item)
		if !tree.IsKind(path, protocol.Object) {
			a.leftOut = append(a.leftOut, "the path "+protocol.Quote(item.Key)+" is left out: it leads nowhere in this document")
			continue
		}
		for _, method := range httpMethods {
			n := path.Member(method)
			if !tree.IsKind(n, protocol.Object) {
				continue
			}
			if method == "options" || method == "head" || method == "trace" {
				skipped = append(skipped, strings.ToUpper(method)+" "+item.Key)
				continue
			}
			if len(a.operations) == maxOperations {
				beyond++
				continue
			}
			o, err := read(path, n)
			if err != nil {
				a.leftOut = append(a.leftOut, fmt.Sprintf("the operation %s %s on line %d is left out: %s",
					strings.ToUpper(method), protocol.Quote(item.Key), n.Line, wording.Shorten(wording.OneLine(err.Error()), 160)))
				continue
			}
			o.addContext(path, n, method)
			o.path = item.Key
			callbacks += len(o.listCallbacks())
			a.operations = append(a.operations, o)
		}
	}
	if len(skipped) > 0 {
		a.leftOut = append(a.leftOut, fmt.Sprintf("%d operations with HEAD, OPTIONS or TRACE are left out: %s", len(skipped), someOf(skipped)))
	}
	if beyond > 0 {
		a.leftOut = append(a.leftOut, fmt.Sprintf("%d operations are not looked at: only the first %d are", beyond, maxOperations))
	}
	if callbacks > 0 {
		a.leftOut = append(a.leftOut, fmt.Sprintf("%d callbacks are left out: the service calls them, not the agent", callbacks))
	}
	if n := len(tree.Members(a.root.Member("webhooks"))); n == 1 {
		a.leftOut = append(a.leftOut, "a webhook is left out: the service calls it, not the agent")
	} else if n > 1 {
		a.leftOut = append(a.leftOut, fmt.Sprintf("%d webhooks are left out: the service calls them, not the agent", n))
	}
	if len(a.operations) == 0 {
		return fmt.Errorf("read OpenAPI description: %w: %s", protocol.ErrUnreadable, noOperations(a.root, paths))
	}
	a.dropCommonWord()
	a.findCommon()
	return nil
}

// findCommon finds the parameters and ids that many operations share.
func (a *description) findCommon() {
	const few = 20
	a.common, a.shared = map[string]bool{}, map[string]bool{}
	count, ids := map[string]int{}, map[string]int{}
	for _, op := range a.operations {
		if ids[op.id]++; op.id != "" && ids[op.id] > 1 {
			a.shared[op.id] = true
		}
		for _, p := range op.parameters {
			if !p.required && p.in != "path" {
				count[p.in+" "+p.name]++
			}
		}
	}
	for key, n := range count {
		if len(a.operations) >= few && n*10 >= len(a.operations)*9 {
			a.common[key] = true
		}
	}
}

// listOmissions lists what no operation contains, for reviews.
func (a *description) listOmissions() []string {
	out := slices.Clone(a.leftOut)
	if servers := a.servers.Elements(); len(servers) > 1 {
		out = append(out, fmt.Sprintf("the description names %d servers; the first is used: %s", len(servers), protocol.Quote(serverURL(a.servers))))
	} else if len(servers) == 1 && len(tree.Members(servers[0].Member("variables"))) > 0 {
		out = append(out, "the address of the server has variables; their defaults are used: "+protocol.Quote(serverURL(a.servers)))
	}
	if refs := a.refs.Unresolved(); len(refs) > 0 {
		out = append(out, fmt.Sprintf("%d references lead nowhere in the description or out of it, and are not followed; put what they lead to into the description: %s",
			len(refs), someOf(refs)))
	}
	return out
}

// orderByUse orders operations by importance: deprecated ones last, before them those without a
// text, then those deep in a path.
func (a *description) orderByUse() []int {
	order := make([]int, len(a.operations))
	depth := make([]int, len(a.operations))
	for i, op := range a.operations {
		order[i] = i
		for _, part := range wording.SplitPath(op.path) {
			if !part.Prefix {
				depth[i]++
			}
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := a.operations[i], a.operations[j]
		return cmp.Or(boolInt(x.deprecated)-boolInt(y.deprecated), boolInt(x.summary == "")-boolInt(y.summary == ""), depth[i]-depth[j])
	})
	return order
}

// summarizeOperations lists operations by topic: "/disks (12), /images (7)".
func summarizeOperations(operations []*operation) string {
	count := map[string]int{}
	var groups []string
	for _, op := range operations {
		group := "/"
		for _, part := range wording.SplitPath(op.path) {
			if !part.Prefix && part.Words != nil {
				group += strings.Join(part.Words, "-")
				break
			}
		}
		if len(op.tags) > 0 {
			group = wording.Shorten(wording.OneLine(op.tags[0]), 40)
		}
		if count[group]++; count[group] == 1 {
			groups = append(groups, group)
		}
	}
	slices.SortStableFunc(groups, func(x, y string) int { return count[y] - count[x] })
	const most = 10
	more := ""
	if len(groups) > most {
		more = fmt.Sprintf(" and %d more kinds", len(groups)-most)
		groups = groups[:most]
	}
	for i, g := range groups {
		groups[i] = fmt.Sprintf("%s (%d)", g, count[g])
	}
	return strings.Join(groups, ", ") + more
}

// dropCommonWord removes the first word of the operationIds if nearly all share it. It is the name
// of the service then (compute_instances_list, compute_disks_insert).
func (a *description) dropCommonWord() {
	const few = 4
	first := map[string]int{}
	named := 0
	for _, op := range a.operations {
		if words := wording.IdentifierWords(op.id); len(words) > 2 {
			first[words[0]]++
		}
		if op.id != "" {
			named++
		}
	}
	for word, n := range first {
		if named < few || n*10 < named*9 || wording.HTTPVerbs[word] != nil || wording.ActionWords[word] {
			continue
		}
		for _, op := range a.operations {
			if words := wording.IdentifierWords(op.id); len(words) > 2 && words[0] == word {
				op.action = strings.TrimLeft(op.id[min(len(word), len(op.id)):], "_.-/: ")
			}
		}
	}
}

// noOperations says why a description has nothing to convert.
func noOperations(root, paths *protocol.Node) string {
	switch {
	case paths == nil && root.Member("webhooks") != nil:
		return "it describes only webhooks, which the service calls, and no paths"
	case paths == nil:
		return "it has no paths"
	case !tree.IsKind(paths, protocol.Object):
		return "paths is " + conversion.KindPhrase(paths) + ", not an object"
	default:
		return "its paths have no operation with GET, PUT, POST, DELETE or PATCH"
	}
}

// someOf lists the first few texts for a message.
func someOf(texts []string) string {
	const most = 4
	more := ""
	if len(texts) > most {
		more = fmt.Sprintf(" and %d more", len(texts)-most)
		texts = texts[:most]
	}
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = protocol.Quote(t)
	}
	return strings.Join(quoted, ", ") + more
}

// serverURL returns the address of the first server with the defaults of its variables, "" when
// there is none.
func serverURL(servers *protocol.Node) string {
	if len(servers.Elements()) == 0 {
		return ""
	}
	first := servers.Items[0]
	address := first.Member("url").Str()
	for _, v := range tree.Members(first.Member("variables")) {
		if len(address) > 2000 {
			return ""
		}
		if d := v.Member("default"); d != nil && len(d.Text) <= 200 {
			address = strings.ReplaceAll(address, "{"+v.Key+"}", d.Text)
		}
	}
	return strings.TrimSpace(address)
}
