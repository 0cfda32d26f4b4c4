package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/operator"
	"gazetteer/internal/backup"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/server"
	"gazetteer/lint/format"
	"gazetteer/store/boltfile"
)

// standardStream is the argument for standard output or input.
const standardStream = "-"

// writeBackupCommand returns the command backup.
func (a *verbs) writeBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIR|-",
		Short: "Write a backup of the data directory, while it serves",
		Long: `Backup writes the store, the transparency log, the mail that waits and the keys
into a directory that does not exist yet, with a manifest of their SHA-256, or
as a tar archive to standard output. A running server writes it and continues to
serve: each part is a snapshot of one moment, and that of the log is the oldest.

The index is not part of the backup, because it is rebuilt. The cosignatures for
other logs are not part of it either: an older copy of them must never be used
again. The backup contains private keys: keep it as safe as the data directory.`,
		Example: "  gazetteer backup /backup/gazetteer-today\n  gazetteer backup - | age -r RECIPIENT > gazetteer.tar.age",
		Args:    cli.ExactArgs(1, "a directory that does not exist yet, or - for standard output"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if args[0] == standardStream {
				path, remove, makeErr := a.makeStreamDir()
				if makeErr != nil {
					return makeErr
				}
				defer func() { err = errors.Join(err, remove()) }()
				dir = path
			} else if a.Server == "" && cli.FileExists(dir) {
				return exit.Usagef("%s exists already: a backup needs a new directory", args[0])
			} else if parent := filepath.Dir(dir); a.Server == "" && !cli.FileExists(parent) {
				return exit.Usagef("there is no directory %s: make it, or mount its disk", parent)
			}
			return a.withUnlimitedOperator(c, func(server *cli.Client) error {
				r, err := a.requestBackup(c.Context(), server, dir)
				switch {
				case err != nil:
					return err
				case args[0] == standardStream:
					fmt.Fprintln(a.Err, describeBackup(r))
					return backup.WriteTar(a.Out, dir)
				case a.JSON:
					return cli.WriteJSON(a.Out, r)
				}
				_, err = fmt.Fprintln(a.Out, describeBackup(r))
				return err
			})
		},
	}
}

// makeStreamDir makes the directory for a backup that is written to standard output.
func (a *verbs) makeStreamDir() (path string, remove func() error, err error) {
	config, err := a.Config()
	if err != nil {
		return "", nil, err
	}
	data, err := filepath.Abs(config.DataDir)
	if err != nil {
		return "", nil, err
	}
	return backup.MakeStreamDir(data)
}

// requestBackup makes the server write a backup, and shows the progress.
func (a *verbs) requestBackup(ctx context.Context, server *cli.Client, dir string) (operator.BackupResult, error) {
	var last operator.BackupLine
	err := cli.PostForLines(ctx, server, "/admin/backup?dir="+url.QueryEscape(dir), nil, func(line operator.BackupLine, _ []byte) error {
		last = line
		if last.Part != "" {
			fmt.Fprintf(a.Err, "writing %s\n", format.Visible(last.Part))
		}
		return nil
	})
	switch {
	case err != nil:
		return operator.BackupResult{}, err
	case last.Error != "":
		return operator.BackupResult{}, exit.Networkf("the backup was not written, and nothing is left of it: %s", last.Error)
	case last.Result == nil:
		return operator.BackupResult{}, exit.Networkf("the server stopped before the backup was written")
	}
	return *last.Result, nil
}

// describeBytes writes a size: in kB below a megabyte, and in MB.
func describeBytes(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func describeBackup(r operator.BackupResult) string {
	text := fmt.Sprintf("%s with %s: the store up to write %d, and %s of the transparency log; it took %.1f s",
		cli.Plural(r.Files, "file"), describeBytes(r.Bytes), r.Seq, cli.Plural(int(r.Leaves), "leaf"), r.TookMS/1000)
	if r.Undeclared > 0 {
		text += "; " + cli.DescribeUndeclared(r.Undeclared)
	}
	return text
}

// leavesSigned returns the size of the tree in a file with a checkpoint, 0 if there is none.
func leavesSigned(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	lines := strings.SplitN(string(text), "\n", 3)
	if len(lines) < 3 {
		return 0
	}
	n, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// restoreBackupCommand returns the command restore.
func (a *verbs) restoreBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore DIR|-",
		Short: "Restore a backup as the data directory",
		Long: `Restore copies every file of a backup beside the data directory and verifies it
meanwhile, reads the whole copy, and only then gives it the name of the data
directory, which must not exist or be empty. If something is wrong, nothing changes.

The store begins another incarnation, so that clients and followers with cursors of
the lost time start again. If a checkpoint was signed that the backup lacks, the
server says so at its start and signs nothing that contradicts it.`,
		Example: "  gazetteer restore /backup/gazetteer-today\n  age -d gazetteer.tar.age | gazetteer restore -",
		Args:    cli.ExactArgs(1, "the directory of a backup, or - for standard input"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			config, err := a.Config()
			if err != nil {
				return err
			}
			var m backup.Manifest
			progress := a.newPartProgress("checking")
			if from := args[0]; from == standardStream {
				m, err = backup.RestoreTar(c.Context(), a.In, config.DataDir, progress)
			} else if !cli.FileExists(from) {
				return exit.Usagef("there is no directory %s", from)
			} else {
				m, err = backup.Restore(c.Context(), from, config.DataDir, progress)
			}
			if err != nil {
				return classifyDamage(fmt.Errorf("nothing was restored: %w", err))
			}
			_, err = fmt.Fprintf(a.Out, "%s restored from the backup of %s: the store up to write %d, and %s of the transparency log\n",
				config.DataDir, m.Created.Format("2006-01-02 15:04:05 UTC"), m.Seq, cli.Plural(int(m.Leaves), "leaf"))
			copied := server.CheckpointCopy(config, m.Store)
			if signed := leavesSigned(copied); signed > m.Leaves {
				fmt.Fprintf(a.Err, "Newer than the backup: %s has a checkpoint of %s. The server will refuse to sign another tree: put back a newer backup, or see docs/log.md, Protection against forks.\n",
					copied, cli.Plural(int(signed), "leaf"))
			}
			return err
		},
	}
}

// checkFilesCommand returns the command check.
func (a *verbs) checkFilesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Read the whole data directory and report damage",
		Long: `Check reads everything in the data directory and compares its parts: every
record of the store with its checksum, every stored document with its digest and
with the versions that name it, the history of every agent, every leaf and hash
of the transparency log with each other and with the records, every document
with its entries in the index, and every envelope of the mail. It reads everything
and samples nothing. Each problem is one line, followed by its repair.

No server may run on the directory. Exit code 1 means that something is damaged.`,
		Example: "  gazetteer check\n  gazetteer check --json",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.Server != "" {
				return cli.UsageError(c, "check reads the data directory of a server that does not run: leave --server out")
			}
			config, err := a.Config()
			if err != nil {
				return err
			}
			if _, err := os.Stat(config.DataDir); err != nil {
				return cli.NoDataError(config, cli.Operate)
			}
			if _, err := os.ReadDir(config.DataDir); errors.Is(err, fs.ErrPermission) {
				return cli.UnreadableError(config.DataDir, err)
			}
			// Asked first: the check of the keys comes before that of the store, which a server holds.
			if held := boltfile.Holder(config.DataDir); held != nil {
				return held
			}
			r, err := backup.Check(c.Context(), config.DataDir, a.newPartProgress("checking"))
			damage, damaged := errors.AsType[*backup.DamagedError](err)
			if errors.Is(err, backup.ErrNoData) {
				return cli.NoDataError(config, cli.Operate)
			}
			if err != nil && !damaged {
				return err
			}
			if a.JSON {
				err = a.writeCheck(r, damage)
			} else if !damaged {
				_, err = io.WriteString(a.Out, describeCheck(r))
			} else {
				err = a.printProblems(damage)
			}
			if err == nil && damaged {
				err = exit.NotFoundf("%s found", cli.Plural(len(damage.Problems)+damage.Unnamed, "problem"))
			}
			return err
		},
	}
}

// printProblems prints the damaged parts.
func (a *verbs) printProblems(damage *backup.DamagedError) error {
	for _, problem := range damage.Problems {
		if _, err := fmt.Fprintln(a.Out, cli.VisibleLines(problem.String())); err != nil {
			return err
		}
	}
	if damage.Unnamed > 0 {
		_, err := fmt.Fprintf(a.Out, "and %d more\n", damage.Unnamed)
		return err
	}
	return nil
}

// writeCheck writes the result of a check as JSON.
func (a *verbs) writeCheck(r backup.Report, damage *backup.DamagedError) error {
	out := struct {
		Whole    bool             `json:"whole"`
		Problems []backup.Problem `json:"problems"`
		Unnamed  int              `json:"unnamed_problems,omitempty"`
		Read     backup.Report    `json:"read"`
	}{Whole: damage == nil, Problems: []backup.Problem{}, Read: r}
	if damage != nil {
		out.Problems, out.Unnamed = damage.Problems, damage.Unnamed
	}
	text, err := json.Marshal(out)
	return a.PrintJSON(text, err)
}

// describeCheck lists the parts that were read and are intact.
func describeCheck(r backup.Report) string {
	text := fmt.Sprintf("%s of the store, %s with their digests and %s of the transparency log are intact\n",
		cli.Plural(r.Records, "record"), cli.Plural(r.Blobs, "document"), cli.Plural(int(r.Leaves), "leaf"))
	text += fmt.Sprintf("the history of %s is intact; each of %s of documents has its text (%d stored texts have no record)\n",
		cli.Plural(r.Agents, "agent"), cli.Plural(r.Versions, "record"), r.Unused)
	text += fmt.Sprintf("the log agrees with %s of the store; %d are not logged yet\n", cli.Plural(int(r.Logged.Records), "record"), r.Logged.Waiting)
	if r.Undeclared > 0 {
		text += cli.DescribeUndeclared(r.Undeclared) + ": the log declares them with its next signature\n"
	}
	if r.HasIndex {
		text += fmt.Sprintf("%s have their %d entries in the index, which is %s behind the store\n",
			cli.Plural(r.Index.Documents, "document"), r.Index.Entries, cli.Plural(int(r.Index.Behind), "write"))
	} else {
		text += "there is no index of this version of the program: the next start builds it from the store\n"
	}
	if r.HasMail {
		text += fmt.Sprintf("%s in the mail queue, each with its checksum\n", cli.Plural(r.Mail, "envelope"))
	}
	return text
}

// progressInterval is the time between two lines about one part.
const progressInterval = 2 * time.Second

// newPartProgress shows the progress to a user: a line for each main part, and another line every
// two seconds. A part of the last main part, "the records of the store" after "the store", has a
// line only if it is reached or lasts two seconds after the last line.
func (a *verbs) newPartProgress(verb string) backup.Progress {
	var main string
	var told time.Time
	return func(part string, done, total int64) {
		begins := part != main && !strings.HasSuffix(part, " "+main)
		far := ""
		switch {
		case main == "" || begins:
			main = part
		case time.Since(told) < progressInterval:
			return
		case total > 0:
			far = fmt.Sprintf(": %d of at most %d", done, total)
		case done > 0:
			far = fmt.Sprintf(": %d", done)
		}
		told = time.Now()
		fmt.Fprintf(a.Err, "%s %s%s\n", verb, part, far)
	}
}

// classifyDamage adds the exit code to the error of a damaged backup.
func classifyDamage(err error) error {
	if _, ok := errors.AsType[*backup.DamagedError](err); ok {
		return &exit.Error{Code: exit.Data, Err: err}
	}
	return err
}
