package corpus

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"gazetteer/internal/fakenet"
)

//go:generate go run ./gen ../../..

// The kept operations of one document, so that the whole stays small.
const (
	capabilitiesKept = 20
	endpointsKept    = 12
)

// Generate writes the documents of fakenet's hosts, testdata/services and testdata/hosts.json, below
// the module's root folder, from testdata/services.txt and the directory of services. It is what
// `go generate` runs; the same input gives the same bytes.
func Generate(root string) error {
	files, err := generateFiles(root)
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "internal", "fakenet", "testdata")
	if err := os.RemoveAll(filepath.Join(dir, "services")); err != nil {
		return err
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generateFiles returns the files of Generate by their names below testdata.
func generateFiles(root string) (map[string][]byte, error) {
	chosen, err := chooseServices(root)
	if err != nil {
		return nil, err
	}
	records := make([]fakenet.Record, len(chosen))
	for i, c := range chosen {
		records[i] = fakenet.Record{Name: c.hostName(), Origin: c.ID, Shape: c.shapeOf(i), Seed: !c.deep && i%2 == 0, Files: map[string]string{}}
	}
	if err := linkHosts(records, chosen); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for i, c := range chosen {
		if err := c.writeFiles(i, &records[i], records, files); err != nil {
			return nil, fmt.Errorf("%s: %w", c.ID, err)
		}
	}
	slices.SortFunc(records, func(a, b fakenet.Record) int { return cmp.Compare(a.Name, b.Name) })
	if files["hosts.json"], err = json.MarshalIndent(records, "", " "); err != nil {
		return nil, err
	}
	return files, nil
}

// A choice is a line of testdata/services.txt with its service.
type choice struct {
	Service
	deep bool
}

// chooseServices reads the list and orders the operations of each service as wanted.
func chooseServices(root string) ([]choice, error) {
	list, err := os.ReadFile(filepath.Join(root, "internal", "fakenet", "testdata", "services.txt"))
	if err != nil {
		return nil, err
	}
	var out []choice
	wanted, phrases := map[string]bool{}, map[string][]string{}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		deep := words[0] == "deep"
		if deep {
			words = words[1:]
		}
		out = append(out, choice{Service: Service{ID: words[0]}, deep: deep})
		wanted[words[0]], phrases[words[0]] = true, words[1:]
	}
	texts, err := readTexts(root)
	if err != nil {
		return nil, err
	}
	found := map[string]Service{}
	for s, err := range services(Directory(root), wanted) {
		if err != nil {
			return nil, err
		}
		s.Operations = orderOperations(s.Operations, phrases[s.ID])
		found[s.ID] = s
	}
	for i := range out {
		s, ok := found[out[i].ID]
		if !ok {
			return nil, fmt.Errorf("services.txt: no service %q in the directory", out[i].ID)
		}
		s.text = texts[s.ID+" -"]
		delete(texts, s.ID+" -")
		s.Name = cmp.Or(texts[s.ID+" ="], s.Name)
		delete(texts, s.ID+" =")
		for n, op := range s.Operations {
			key := s.ID + " " + op.ID
			s.Operations[n].text = texts[key]
			delete(texts, key)
		}
		out[i].Service = s
	}
	for key := range texts {
		return nil, fmt.Errorf("texts.txt: no operation %q in the directory", key)
	}
	return out, nil
}

// readTexts reads testdata/texts.txt: texts by the identifiers of a service and of its operation, or by
// the identifier of a service and "-" for its description or "=" for its name.
func readTexts(root string) (map[string]string, error) {
	list, err := os.ReadFile(filepath.Join(root, "internal", "fakenet", "testdata", "texts.txt"))
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 3 {
			return nil, fmt.Errorf("texts.txt: %q is not a service, an operation and a text", strings.TrimSpace(line))
		}
		texts[words[0]+" "+words[1]] = strings.Join(words[2:], " ")
	}
	return texts, nil
}

// orderOperations orders operations so that the first ones are the best to keep: those
// with a wanted phrase in their intent, in the order of the phrases and short
// endpoints first, then by turns one of each entity, so that the breadth of a
// large service stays visible. A phrase is written with _ for a blank.
func orderOperations(ops []Operation, wanted []string) []Operation {
	type ranked struct {
		Operation
		phrase, depth, turn int
	}
	turns := map[string]int{}
	var rank []ranked
	for _, op := range ops {
		intent := strings.ToLower(op.Intent)
		entity, _, _ := strings.Cut(strings.TrimPrefix(op.Path, "/"), "/")
		turns[entity]++
		r := ranked{Operation: op, turn: turns[entity]}
		r.phrase = slices.IndexFunc(wanted, func(w string) bool { return strings.Contains(intent, strings.ReplaceAll(w, "_", " ")) })
		if r.phrase < 0 {
			r.phrase = len(wanted)
		} else {
			r.depth = strings.Count(op.Endpoint, "/")
		}
		rank = append(rank, r)
	}
	slices.SortStableFunc(rank, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.phrase, b.phrase), cmp.Compare(a.depth, b.depth), cmp.Compare(a.turn, b.turn))
	})
	var out []Operation
	for _, r := range rank {
		out = append(out, r.Operation)
	}
	return out
}

// shapeOf mixes what hosts publish: of ten, three have only an AI Discovery
// document, one only AGIS, six have both. A service of which nothing can be said
// in one format gets the other.
func (c choice) shapeOf(i int) fakenet.Shape {
	_, capabilities, _ := c.asAI(1)
	if capabilities == 0 {
		return fakenet.AGISOnly
	}
	if len(c.asAGIS(c.hostName(), 1).Endpoints) == 0 {
		return fakenet.AIOnly
	}
	switch i % 10 {
	case 0, 3, 6:
		return fakenet.AIOnly
	case 9:
		return fakenet.AGISOnly
	}
	switch i % 34 {
	case 1:
		return fakenet.AGTPOnly
	case 2:
		return fakenet.Apart
	}
	return fakenet.Both
}

// linkHosts gives each host that is no seed a parent among the hosts before it in
// depth that publish a summary, and the deep ones a parent at depth 3. The nearest
// in the list is chosen, so links lead to services of the same sort.
func linkHosts(records []fakenet.Record, chosen []choice) error {
	later := 0
	for i := range records {
		switch r := &records[i]; {
		case chosen[i].deep:
			r.Depth = 4
		case !r.Seed:
			r.Depth = []int{1, 1, 2, 1, 2, 3}[later%6]
			later++
		}
	}
	for depth := 1; depth <= 4; depth++ {
		for i, r := range records {
			if r.Depth != depth {
				continue
			}
			parent := -1
			for j, p := range records {
				if p.Depth == depth-1 && p.Shape != fakenet.AIOnly && len(p.Related) < 4 && (parent < 0 || absDistance(i, j) < absDistance(i, parent)) {
					parent = j
				}
			}
			if parent < 0 {
				return fmt.Errorf("no host of depth %d is left to link to %s", depth-1, r.Name)
			}
			records[parent].Related = append(records[parent].Related, r.Name)
		}
	}
	// Links back to seeds, which have even places, make circles as in life.
	for i := range records {
		if r := &records[i]; r.Shape != fakenet.AIOnly && i%3 == 0 {
			if back := records[(i+14)/2*2%len(records)]; back.Name != r.Name && back.Seed {
				r.Related = append(r.Related, back.Name)
			}
		}
	}
	return nil
}

func absDistance(i, j int) int { return max(i-j, j-i) }

// writeFiles adds the files of one host.
func (c choice) writeFiles(i int, r *fakenet.Record, all []fakenet.Record, files map[string][]byte) error {
	dir := "services/" + r.Name + "/"
	add := func(path, name string, text []byte) {
		files[dir+name] = text
		r.Files[path] = r.Name + "/" + name
	}
	if r.Shape != fakenet.AGISOnly {
		text, _, err := c.asAI(capabilitiesKept)
		if err != nil {
			return err
		}
		add("/.well-known/ai", "ai.json", text)
	}
	if r.Shape == fakenet.AIOnly {
		return nil
	}
	doc := c.asAGIS(r.Name, endpointsKept)
	if i%3 == 1 {
		c.addDataClasses(&doc)
	}
	text, name, path, err := serializeAGIS(doc, i)
	if err != nil {
		return err
	}
	where := "https://" + r.Name + path
	switch r.Shape {
	case fakenet.AGTPOnly:
		where = "agtp://" + r.Name
	case fakenet.Apart:
		// The document lies with the next host of the list that has both.
		for j := i + 1; ; j++ {
			if other := &all[j%len(all)]; other.Shape == fakenet.Both && other.Depth <= 1 {
				path = "/hosted/" + r.Name + path
				where = "https://" + other.Name + path
				other.Files[path] = r.Name + "/" + name
				files[dir+name] = text
				break
			}
		}
	default:
		add(path, name, text)
	}
	related := []string{}
	for n, host := range r.Related {
		if n%3 == 2 {
			related = append(related, "https://"+host+"/")
		} else {
			related = append(related, "agtp://"+host)
		}
	}
	if text, err = marshalCompact(c.asSummary(doc, where, related)); err != nil {
		return err
	}
	add("/.well-known/agis.json", "summary.json", text)
	return nil
}

// serializeAGIS writes half of the documents in YAML and half in JSON.
func serializeAGIS(doc agisDocument, i int) (text []byte, name, path string, err error) {
	if i/2%2 == 1 {
		text, err = marshalCompact(doc)
		return text, "agis.json", "/agis/v1/service.json", err
	}
	text, err = yaml.Marshal(doc)
	if i/4%2 == 1 {
		return text, "agis.yaml", "/agis/v1/service.yaml", err
	}
	return text, "service.agis", "/service.agis", err
}
