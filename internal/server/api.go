package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/mcpserver"
	"gazetteer/api/operator"
	"gazetteer/api/route"
	"gazetteer/api/selfdescription"
	"gazetteer/census"
	"gazetteer/internal/privatefile"
	"gazetteer/internal/version"
	"gazetteer/limit"
	"gazetteer/registry/audit"
	"gazetteer/web"
	"gazetteer/web/censuspages"
	"gazetteer/web/crawlerpages"
	"gazetteer/web/docpages"
	"gazetteer/web/frame"
	"gazetteer/web/history"
	"gazetteer/web/operatorpages"
)

// newSubmitter returns the submitter for host names from visitors. Without a crawler it accepts
// none.
func newSubmitter(h *Server, limits *limit.Set) *answer.Submitter {
	o := answer.SubmitterOptions{
		PerClient: h.Config.API.SubmissionsPerHour, PerDomain: h.Config.API.SubmissionsPerDomainPerHour, All: h.Config.API.SubmissionsGlobalPerHour, Limits: limits,
	}
	if h.Config.Crawler.Enabled {
		o.Add = h.Crawler.Add
	}
	return answer.NewSubmitter(o)
}

// openAPI builds one handler for the API and the pages.
func (h *Server) openAPI(e Environment) error {
	key, err := readCursorKey(h.Config.DataDir)
	if err != nil {
		return err
	}
	limits := h.limits
	validator, err := newValidator(h.Config, e, limits, h.recorder.recordCheck)
	if err != nil {
		return fmt.Errorf("set up the validator: %w", err)
	}
	search := answer.NewLimitedSearcher(h.Index, answer.SearchLimits{Time: time.Duration(h.Config.Search.Timeout), Concurrent: h.Config.Search.Concurrency, Limits: limits})
	ownerRequests, err := h.openOwnerRequests(e, limits)
	if err != nil {
		return fmt.Errorf("set up the requests of owners: %w", err)
	}
	h.census = census.OpenLive(census.LiveOptions{Store: h.Store, Snapshot: filepath.Join(h.Config.DataDir, "census.snapshot"), Log: h.log, Now: e.Now})
	answers := &answer.Answers{Now: e.Now, Census: h.census, Store: h.Store, Feed: h.changes, Index: search, Registry: h.registry, Directory: h.directory, Joiner: h.joiner, Resolver: h.resolver, Log: h.audit, Witness: h.witness, Crawler: h.Crawler, Validator: validator, Submitter: newSubmitter(h, limits), OwnerRequests: ownerRequests, Blocks: h.Crawler, Standing: h.standing}
	options := api.Options{
		Options: route.Options{
			Answers: answers, Log: h.log, CursorKey: key, Version: version.Read().Version, PublicURL: h.Config.PublicURL,
			TrustedProxies: h.Config.API.TrustedProxies, Now: e.Now, Limits: limits, Panics: &h.panics,
		},
		ClockJumps: h.clock.Jumps, NoCrawl: !h.Config.Crawler.Enabled,
		Operator: operator.Options{Add: h.addHosts, Crawl: h.crawlAndIndex, Horizon: time.Duration(h.Config.Store.Horizon), Backup: h.writeBackup, CompactViews: h.compactViews, DescribeTable: censuspages.DescribeTable, Program: version.Read().Name(), AwaitedParts: h.listAwaited},
		Anchored: h.newestAnchor, Relay: h.relayHTTP, Tools: h.tools, ToolsHTTP: h.toolsHTTP,
	}
	options.LogLock, options.Witnesses, options.ResumeSigning = h.logLock(), h.witnesses.Status, h.resumeSigning
	if h.witnesses.Len() > 0 {
		options.Publish = func(ctx context.Context) error {
			err := h.witnesses.AskAll(ctx)
			if errors.Is(err, audit.ErrFork) {
				h.logCosignFailure(err)
			}
			return err
		}
	}
	h.api, err = api.New(options)
	if err != nil {
		return fmt.Errorf("set up the API: %w", err)
	}
	if h.history, err = history.Open(filepath.Join(h.Config.DataDir, "history.jsonl")); err != nil {
		return err
	}
	var contracts operatorpages.Contracts
	if h.tools != nil {
		contracts = h.tools
	}
	pages := web.New(answers, search, web.Options{Contracts: contracts, Log: h.log, Panics: &h.panics, PublicURL: h.Config.PublicURL, Now: e.Now, Standing: h.api.ServerStatus, Registry: h.api.RegistryStatus, History: h.history, Links: []frame.Link{{Text: "Docs", Address: "/docs"}, {Text: "MCP", Address: "/mcp"}}, Bot: crawlerpages.Bot{
		UserAgent: userAgent(h.Config), Contact: h.Config.Crawler.Contact, Addresses: h.Config.Crawler.OwnAddresses,
		HostInterval: time.Duration(h.Config.Crawler.HostInterval), DomainInterval: time.Duration(h.Config.Crawler.DomainInterval), Disabled: !h.Config.Crawler.Enabled,
	}})
	pages.Mount(h.api.Engine())
	pages.MountOperator(h.api.Operator)
	reference, err := docpages.New(pages.Frame, h.api.OpenAPI(), answers, h.Config.PublicURL)
	if err != nil {
		return fmt.Errorf("prepare the API reference: %w", err)
	}
	reference.Mount(h.api.Engine())
	tools := mcpserver.New(mcpserver.Options{Request: mcpserver.FromHandler(h.api.Handler()), Version: version.Read().Version})
	mcpserver.Mount(h.api.Engine(), tools, h.Config.PublicURL)
	documents, err := selfdescription.New(selfdescription.Options{PublicURL: h.Config.PublicURL, Contact: h.Config.Crawler.Contact, Services: answers.Services, Now: e.Now})
	if err != nil {
		return fmt.Errorf("describe this server: %w", err)
	}
	documents.Mount(h.api.Engine())
	h.api.SetNotFound(pages.NotFound)
	return nil
}

// readCursorKey reads the key that authenticates page cursors, or makes one.
func readCursorKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, "cursor.key")
	key, err := os.ReadFile(path)
	switch {
	case err == nil && len(key) == 32:
		return key, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("read the cursor key: %w", err)
	}
	// A damaged key is replaced: only the cursors in use become invalid.
	key = make([]byte, 32)
	rand.Read(key)
	if err := privatefile.Replace(path, key); err != nil {
		return nil, fmt.Errorf("write the cursor key: %w", err)
	}
	return key, nil
}
