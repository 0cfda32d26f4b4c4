package operator

import (
	"context"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/protocol"

	"github.com/danielgtaylor/huma/v2"
)

// blockRoutes declares the routes by which the operator excludes hosts.
func (a *Operator) blockRoutes(h huma.API) {
	route.Handle(a.Mux, h, route.Op("list-blocks"), a.listBlocks)
	route.HandleBody[BlockBody](a.Mux, h, route.Op("block-host"), a.addBlock)
	route.Handle(a.Mux, h, route.Op("unblock-host"), a.removeBlock)
}

// BlockList holds the excluded hosts.
type BlockList struct {
	Blocks []crawler.Block `json:"blocks" doc:"in order of host"`
	Note   string          `json:"note,omitempty" doc:"after a block is lifted: what still blocks the host, or would block it again"`
}

// BlockBody documents the body of a block.
type BlockBody struct {
	Host       string `json:"host" doc:"the name of a host"`
	Subdomains bool   `json:"subdomains,omitempty" doc:"true: its subdomains, too"`
	Why        string `json:"why,omitempty" doc:"a note, shown in lists; at most 300 characters are stored"`
}

// findBlocker returns the list of blocked hosts, or the problem of a process without one.
func (a *Operator) findBlocker() (answer.Blocker, error) {
	if a.Answers.Blocks == nil {
		return nil, route.NewProblem(route.Unavailable, "this process has no list of blocked hosts", "ask the one that crawls")
	}
	return a.Answers.Blocks, nil
}

func (a *Operator) listBlocks(ctx context.Context, _ *struct{}) (*route.Output[BlockList], error) {
	blocker, err := a.findBlocker()
	if err != nil {
		return nil, err
	}
	all, err := blocker.Blocks(ctx)
	if err != nil {
		return nil, err
	}
	return route.JSON(BlockList{Blocks: answer.OrEmpty(all)}), nil
}

func (a *Operator) addBlock(ctx context.Context, in *route.JSONBody) (*route.Output[crawler.Block], error) {
	blocker, err := a.findBlocker()
	if err != nil {
		return nil, err
	}
	b, err := readBlock(in.Text)
	if err != nil {
		return nil, err
	}
	before, blocked, err := blocker.Blocked(ctx, b.Host)
	if err != nil {
		return nil, err
	}
	if blocked && before.Host == b.Host && before.By == crawler.ByOwner {
		b.By, b.Proof, b.Since, b.Operator = before.By, before.Proof, before.Since, true
		b.Subdomains = b.Subdomains || before.Subdomains
	}
	if err := blocker.Block(ctx, b); err != nil {
		return nil, err
	}
	a.Log.Info("host blocked", "host", b.Host, "subdomains", b.Subdomains)
	b, _, err = blocker.Blocked(ctx, b.Host)
	return route.JSON(b), err
}

// readBlock reads the body of a block, strictly.
func readBlock(text []byte) (crawler.Block, error) {
	b := crawler.Block{By: crawler.ByOperator, ByHand: true}
	root, err := protocol.ReadJSON(text, protocol.Limits{Bytes: 4 << 10, Depth: 4, Members: 16})
	if err != nil {
		return b, err
	}
	refused := func(n *protocol.Node, detail string) error {
		return route.NewProblem(route.BadField, detail, `for example {"host": "example.com", "subdomains": true, "why": "its owner wrote to us"}`).WithLocation(route.BodyLocation(n))
	}
	host := root.Member("host")
	if root.Kind != protocol.Object || host == nil || host.Kind != protocol.String {
		return b, refused(root, "the body must be an object with a member host, a string")
	}
	if b.Host, err = fetch.CheckHost(host.Text); err != nil {
		return b, route.ProblemFor(err).WithLocation(route.BodyLocation(host))
	}
	known := 1
	if n := root.Member("subdomains"); n != nil {
		if known++; n.Kind != protocol.Bool {
			return b, refused(n, "subdomains must be true or false")
		}
		b.Subdomains = n.True()
	}
	if n := root.Member("why"); n != nil {
		if known++; n.Kind != protocol.String {
			return b, refused(n, "why must be a text")
		}
		b.Why = protocol.ClipRunes(n.Text, 300)
	}
	if known != len(root.Items) {
		return b, refused(root, "the body has a member that is not known; known are host, subdomains and why")
	}
	return b, nil
}

type unblockInput struct {
	Host  string `path:"host" maxLength:"255" doc:"the name of a host"`
	Owner bool   `query:"owner" doc:"true: also lift the opt-out of the host's owner, against the owner's will"`
	route.EmptyBody
}

func (a *Operator) removeBlock(ctx context.Context, in *unblockInput) (*route.Output[BlockList], error) {
	blocker, err := a.findBlocker()
	if err != nil {
		return nil, err
	}
	host, err := fetch.CheckHost(in.Host)
	if err != nil {
		return nil, err
	}
	b, blocked, err := blocker.Blocked(ctx, host)
	switch {
	case err != nil:
		return nil, err
	case !blocked:
		return nil, route.NewProblem(route.NoService, host+" is not blocked", "gazetteer crawler blocked lists those that are, and /admin/blocks on the operator's listeners")
	case b.Host != host:
		return nil, route.NewProblem(route.NotOptedOut, host+" is blocked with "+b.Host+" and its subdomains", "unblock "+b.Host)
	case b.By == crawler.ByOwner && !in.Owner:
		withdrawn := &answer.WithdrawnError{Host: host, Block: b}
		return nil, route.NewProblem(route.OptedOut, withdrawn.Why(), "the owner withdraws the opt-out with gazetteer opt-in "+host+"; to lift it against the owner's will: gazetteer crawler unblock --owner "+host+", or the parameter owner=true")
	}
	if err := blocker.Unblock(ctx, host); err != nil {
		return nil, err
	}
	a.Log.Info("host unblocked", "host", host)
	list, err := a.listBlocks(ctx, nil)
	if err != nil {
		return nil, err
	}
	if wider, still, err := blocker.Blocked(ctx, host); err != nil {
		return nil, err
	} else if still {
		list.Body.Note = host + " is still blocked, with " + wider.Host + " and its subdomains: unblock " + wider.Host
	} else if !b.ByHand && (b.By == crawler.ByOperator || b.Operator) {
		list.Body.Note = "the file of crawler.block_list_file blocked " + host + ": remove it there, too, or the next start or SIGHUP blocks it again"
	}
	return list, nil
}
