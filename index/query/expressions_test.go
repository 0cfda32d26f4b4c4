package query

import (
	"slices"
	"strings"
	"testing"

	"gazetteer/index/tokens"
)

func TestExpressionsWithAGap(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, stands, asked string }{
		{"put our choir's songs online", "publish", "put … online"},
		{"drop her a line", "message", "drop her a line"},
		{"push the rehearsal back to noon", "reschedule", "push … back to"},
		{"take the ladder back to the shop", "return", "take … back to the shop"},
		{"cut my uncle out of the wedding picture", "background", "cut … out of … picture"},
		{"keep the ladder a week longer", "extend", "keep the ladder … longer"},
		{"my lamp arrived with a dent in it", "damaged", "arrived with a dent in"},
		{"take them off the board", "remove", "take them off the board"},
		{"take me off your list", "unsubscribe", "take me off your list"},
		{"stop texting me", "unsubscribe", "stop texting me"},
		{"how do we get from Bergen to Oslo", "route", "how do we get from … to"},
		{"somebody make this link shorter", "shorten", "make this link shorter"},
		{"do I need a coat today", "weather", "do I need a coat"},
		{"get us to the airport", "taxi", "get us to the airport"},
		{"put this letter into French, please", "translate", "put … into French"},
		{"push the rehearsal back to 4pm", "reschedule", "push … back to"},
		{"keep it a bit longer", "extend", "keep it a bit longer"},
		{"who does the number 0171 234 belong to", "lookup", "who does the number 0171 234 belong to"},
		{"get our lease looked over", "review", "get … lease looked over"},
		{"take the lantern out of the picture", "object", "take … out of the picture"},
	} {
		r := ParseRequest(a, c.text)
		at := slices.IndexFunc(r.Words, func(w Word) bool { return w.Expression && w.Asked == c.asked })
		if at < 0 {
			t.Errorf("%s: no expression %q in %+v", c.text, c.asked, r.Words)
		} else if !slices.ContainsFunc(r.Words[at].Meanings, func(m tokens.Token) bool { return m.Form == c.stands }) {
			t.Errorf("%s stands for %v, not %q", c.text, r.Words[at].Meanings, c.stands)
		}
		for _, w := range r.Words {
			if weight := weightOf(r, w.Asked); weight == idiomWeight && !strings.Contains(c.asked, w.Asked) {
				t.Errorf("%s: %s in the gap counts %g", c.text, w.Asked, weight)
			}
		}
	}
}

// A request that has words of an expression may mean something else.
func TestRequestsLikeExpressions(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, not := range map[string]string{
		"massage at home":                              "recipe",
		"put the kettle on, is the shop online":        "publish",
		"keep the receipt, it takes longer":            "extend",
		"send the invoice back":                        "message",
		"let me see my drafts":                         "permission",
		"take the first train to the library":          "loan",
		"pencil case in blue":                          "event",
		"push the code to the back branch":             "reschedule",
		"pick it up at the counter":                    "taxi",
		"take a picture of the gate out of the window": "background",
		"stop sending it":                              "unsubscribe",
		"take the files off the board":                 "member",
		"move the files to another folder":             "reschedule",
		"cover letter for a gardener":                  "insurance",
		"give it a name":                               "call",
		"make the trousers shorter":                    "alias",
		"the bus arrived":                              "damaged",
		"quit smoking":                                 "membership",
		"place a grocery order online":                 "publish",
		"put an order online":                          "publish",
		"put my order on hold on the web":              "publish",
		"get me out there by noon":                     "publish",
		"want to sell my bitcoin":                      "listing",
		"give it a ring of truth":                      "call",
		"give her a ring for her birthday":             "call",
		"get today's appointments in our diary":        "event",
		"push my code back to main":                    "reschedule",
		"move in to another day care":                  "reschedule",
		"keep it no longer":                            "extend",
		"keep the book no longer":                      "extend",
		"keep the milk fresh longer":                   "extend",
		"I want to stay no longer":                     "extend",
		"park the van no longer":                       "extend",
		"stay awake longer":                            "extend",
		"help me stay focused longer":                  "extend",
		"easiest way from CSV to JSON":                 "route",
		"which way from metres to feet":                "route",
		"get me from zero to hero":                     "route",
		"compare cards with cash back on orders":       "refund",
		"find cards, I want one with cash back":        "refund",
		"phone cover for my iPhone":                    "insurance",
		"cover for the sofa":                           "insurance",
		"find cover for my shift":                      "insurance",
		"write a cover for my book":                    "insurance",
		"get my CV looked at":                          "appointment",
		"have my contract looked over":                 "appointment",
		"do I need a jacket for the restaurant":        "weather",
		"do I need a coat rack":                        "weather",
		"I need a coat of primer":                      "weather",
		"do I need a jumper cable":                     "weather",
		"take the red eyes out of the photo":           "background",
		"take a print out of the photo":                "object",
		"boil eggs down to soft":                       "summary",
		"the short version of the song":                "summary",
		"put my daughter into french classes":          "translate",
		"put my savings into polish bonds":             "translate",
		"take a course live":                           "deploy",
		"take a photo live":                            "deploy",
		"put the baby live":                            "deploy",
		"go live with my parents":                      "deploy",
		"let him see the doctor":                       "permission",
		"who does the number plate belong to":          "lookup",
		"what day is my appointment on":                "holidays",
		"what day does the shop open on":               "holidays",
		"flu virus vaccine":                            "malicious",
		"virus test for covid":                         "malicious",
		"trojan horse history":                         "malicious",
		"Minnesota Twins score":                        "children",
		"a boy band":                                   "children",
		"boy racer game":                               "children",
	} {
		r := ParseRequest(a, text)
		for _, w := range r.Words {
			if w.Expression && slices.ContainsFunc(w.Meanings, func(m tokens.Token) bool { return m.Form == not }) {
				t.Errorf("%s: %q stands for %v", text, w.Asked, w.Meanings)
			}
		}
	}
}

func TestGapsAreBounded(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, has := range map[string]bool{"put songs of our choir online": true, "put all of the songs of our choir online": false, "put it away, then go online": false} {
		if got := slices.ContainsFunc(ParseRequest(a, text).Words, func(w Word) bool { return w.Asked == "put … online" }); got != has {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestKindsOfValues(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, kind := range map[string]string{
		"shorten notes.docx to a page": "document", "cut the silence from talk.mp3": "audio", "store https://acme.example/a/b for later": "url",
		"is acme-lamps.org still free": "domain", "who owns acme.org": "domain",
	} {
		if all := meanings(ParseRequest(a, text)); !slices.Contains(all, kind) {
			t.Errorf("%s looks for %q", text, all)
		}
	}
	for text, kind := range map[string]string{
		"write to jo@acme.org, she owns it": "domain", "version 2.5 is free": "domain", "draw the hill of acme.org": "domain", "e.g. a free room": "domain",
		"is the flat at 4.30 free": "domain", "a photo of the node.js meetup": "file", "the St. John church is free": "domain",
	} {
		if all := meanings(ParseRequest(a, text)); slices.Contains(all, kind) {
			t.Errorf("%s looks for %q", text, all)
		}
	}
}

func TestWordsThatOnlyChooseCountLess(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"find the cheapest ferry", "nearest lighthouse", "play another waltz"} {
		fields := strings.Fields(text)
		r := ParseRequest(a, text)
		if weight := weightOf(r, fields[len(fields)-2]); weight != choosingWeight {
			t.Errorf("%s: %g", text, weight)
		}
	}
	if weight := weightOf(ParseRequest(a, "read the latest"), "latest"); weight != 1 {
		t.Errorf("what a request asks for counts %g", weight)
	}
}
