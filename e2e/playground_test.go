package e2e

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin/release"
)

var update = flag.Bool("update", false, "write what the commands print into the pages of the playground")

// playedPages are the pages for the playground of the demo. Each page goes on where the one before ends.
var playedPages = []string{"../docs/quickstart.md", "../docs/cardctl.md", "../docs/replay.md"}

// demo is the program that make demo builds.
const demo = "github.com/capacity-card/capacity-card/cmd/demo"

// startsDemo is the command that stays in the first terminal.
const startsDemo = "make demo DEMO_KEEP=1\n"

// TestPlayground follows the pages as they stand, as a reader with two terminals does: make demo in one of them, and
// all other sh blocks, in order, in the other. The output of a block on stdout and stderr is compared with the next
// text block, if it comes before the next sh block. No command may fail, except before "||".
//
// It repeats a block that only reads until the block prints the text of the page. With -update it writes the output of
// the blocks into the pages. The pages show the rules of v1.14.1. With another release, the commands must succeed, and
// their output may differ.
func TestPlayground(t *testing.T) {
	clone := newClone(t)
	for name, program := range map[string]string{"kubectl": kubectl, "cardctl": cardctl} {
		require.NoError(t, os.Symlink(build(t, program), filepath.Join(clone, "bin", name)))
	}
	reader := openTerminal(t, clone)
	for _, page := range playedPages {
		text := string(read(t, page))
		blocks := fenced.FindAllStringSubmatchIndex(text, -1)
		played, end := "", 0
		for i, block := range blocks {
			language, body := text[block[2]:block[3]], text[block[4]:block[5]]
			switch {
			case body == startsDemo:
				startDemo(t, clone)
			case language == "sh" && i+1 < len(blocks) && text[blocks[i+1][2]:blocks[i+1][3]] == "text":
				shown := blocks[i+1][4:6]
				played += text[end:shown[0]] + reader.shows(t, body, text[shown[0]:shown[1]])
				end = shown[1]
			case language == "sh":
				output, failed := reader.run(t, body)
				require.False(t, failed, "%s: a command failed:\n%s\n%s", page, body, output)
			case language != "text" && language != "yaml":
				t.Errorf("%s: no test checks blocks of %q", page, language)
			}
		}
		played += text[end:]
		if *update && release.Built() == release.V1141 {
			require.NoError(t, os.WriteFile(page, []byte(played), 0o600))
		}
	}
	for _, directory := range []string{"deploy/drop-in", "deploy/cards"} {
		output, failed := reader.run(t, "kubectl apply --dry-run=server -k "+directory)
		require.False(t, failed, output)
	}
}

// TestTranslation expects the same blocks in the translation of the quick start, apart from comments.
func TestTranslation(t *testing.T) {
	blocks := func(page string) (all []string) {
		for _, block := range fenced.FindAllStringSubmatch(string(read(t, page)), -1) {
			all = append(all, block[1], steady(regexp.MustCompile(`(?m) +# .*$`).ReplaceAllString(block[2], "")))
		}
		return all
	}
	require.Equal(t, blocks("../docs/quickstart.md"), blocks("../docs/zh/quickstart.md"))
}

// startDemo runs the demo as make demo does, and returns when the playground is open. At the end of the test it ends
// the demo with Ctrl-C.
func startDemo(t *testing.T, clone string) {
	t.Helper()
	command := exec.Command(build(t, demo, "-ldflags=-s -w"))
	command.Dir, command.Env = clone, append(os.Environ(), "DEMO_KEEP=1")
	printed, err := os.Create(filepath.Join(t.TempDir(), "demo"))
	require.NoError(t, err)
	command.Stdout, command.Stderr = printed, printed
	require.NoError(t, command.Start())
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()
	settings := filepath.Join(clone, "bin", "playground")
	t.Cleanup(func() {
		require.NoError(t, command.Process.Signal(syscall.SIGINT))
		select {
		case err := <-exited:
			require.NoError(t, err, "%s", read(t, printed.Name()))
		case <-time.After(patience):
			_ = command.Process.Kill()
			t.Errorf("the demo does not end after Ctrl-C")
		}
		require.NoFileExists(t, settings)
		require.Contains(t, string(read(t, printed.Name())), "everything is stopped and removed")
		require.NoError(t, printed.Close())
	})
	for deadline := time.After(4 * patience); ; { // the story alone takes a quarter of a minute
		if _, err := os.Stat(settings); err == nil {
			return
		}
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("the demo ended: %v\n%s", err, read(t, printed.Name()))
		case <-deadline:
			t.Fatalf("the playground does not open:\n%s", read(t, printed.Name()))
		case <-time.After(schedulePeriod):
		}
	}
}

// terminal is one bash for all blocks, so that variables of a block are there for the next block.
type terminal struct {
	input  io.Writer
	output *os.File
	lines  *bufio.Reader // of output
	// script is the file with the block that is run.
	script string
}

// endOfBlock is printed after each block, with 1 if a command failed.
const endOfBlock = "=== end of block "

// openTerminal opens a terminal in a directory.
func openTerminal(t *testing.T, directory string) *terminal {
	t.Helper()
	shell := exec.Command("bash", "--noprofile", "--norc")
	shell.Dir = directory
	input, err := shell.StdinPipe()
	require.NoError(t, err)
	output, printed, err := os.Pipe()
	require.NoError(t, err)
	shell.Stdout, shell.Stderr = printed, printed
	require.NoError(t, shell.Start())
	require.NoError(t, printed.Close())
	t.Cleanup(func() {
		_ = shell.Process.Kill()
		_ = shell.Wait()
		_ = output.Close()
	})
	terminal := &terminal{input: input, output: output, lines: bufio.NewReader(output), script: filepath.Join(t.TempDir(), "block")}
	setup, failed := terminal.run(t, "unset KUBECONFIG\nset -E -o pipefail\ntrap 'failed=1' ERR\n"+`make() { command make -n "$@" >/dev/null; }`)
	require.False(t, failed, setup)
	return terminal
}

// run runs a block, and returns its output and whether a command failed.
func (terminal *terminal) run(t *testing.T, block string) (printed string, failed bool) {
	t.Helper()
	require.NoError(t, os.WriteFile(terminal.script, []byte(block), 0o600))
	require.NoError(t, terminal.output.SetReadDeadline(time.Now().Add(2*patience)))
	_, err := fmt.Fprintf(terminal.input, "failed=0; . '%s' </dev/null; printf '%s%%d\\n' $failed\n", terminal.script, endOfBlock)
	require.NoError(t, err)
	for {
		line, err := terminal.lines.ReadString('\n')
		require.NoError(t, err, "the terminal does not end\n%s\n%s", block, printed)
		if before, status, found := strings.Cut(line, endOfBlock); found {
			return printed + before, status != "0\n"
		}
		printed += line
	}
}

// reading are the commands that may be run again, by how they begin.
var reading = []string{"kubectl get ", "kubectl events ", "cardctl ", "curl "}

// shows runs a block and expects the output that the page shows. It returns the text for the page.
func (terminal *terminal) shows(t *testing.T, block, shown string) string {
	t.Helper()
	once := slices.ContainsFunc(commands(block), func(command string) bool {
		return !slices.ContainsFunc(reading, func(prefix string) bool { return strings.HasPrefix(command, prefix) })
	})
	limit, compared := patience, release.Built() == release.V1141
	if *update || !compared {
		limit = 2 * time.Second
	}
	for deadline := time.Now().Add(limit); ; {
		output, failed := terminal.run(t, block)
		switch {
		case steady(output) == steady(shown):
			require.False(t, failed, "a command failed:\n%s\n%s", block, output)
			return shown
		case !once && time.Now().Before(deadline):
			time.Sleep(schedulePeriod)
		case *update || !compared:
			require.False(t, failed, "a command failed:\n%s\n%s", block, output)
			return output
		default:
			require.Equal(t, steady(shown), steady(output), "the page shows something else for\n%s\nRun this test with -update and read the difference", block)
		}
	}
}

// commands are the commands of a block, with their continuation lines.
func commands(block string) []string {
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(block, "\\\n", "")), "\n")
}

// varying matches all text that may differ between two runs: UIDs, ages as kubectl prints them, and the random ends of
// the names of a Deployment's pods.
var varying = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`-[bcdf-hj-np-tv-z2456789]{8,10}-[bcdf-hj-np-tv-z2456789]{5}\b`), "-SUFFIX"},
	{regexp.MustCompile(`\bsweep-worker-\d\b`), "sweep-worker-N"}, // one of three pods is placed: the one that is created first
	{regexp.MustCompile(`\b(\d+[dhms])+\b( \(x\d+ over (\d+[dhms])+\))?`), "AGE"},
}

// steady is a text without the varying parts, and without the spaces at the ends of lines. The length of varying parts
// varies as well, so the columns of such a text are one space apart.
func steady(text string) string {
	text = regexp.MustCompile(`(?m) +$`).ReplaceAllString(text, "")
	before := text
	for _, each := range varying {
		text = each.pattern.ReplaceAllString(text, each.name)
	}
	if text != before {
		text = regexp.MustCompile(` +`).ReplaceAllString(text, " ")
	}
	return text
}

// newClone returns a directory that looks like a clone of the repository.
func newClone(t *testing.T) string {
	t.Helper()
	clone := t.TempDir()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(clone, "bin"), 0o755)) // git does not have it
	for _, entry := range entries {
		if entry.Name() != "bin" {
			require.NoError(t, os.Symlink(filepath.Join(root, entry.Name()), filepath.Join(clone, entry.Name())))
		}
	}
	return clone
}

// TestSteady expects a comparison to leave out the varying parts, and nothing else.
func TestSteady(t *testing.T) {
	for _, each := range []struct {
		a, b string
		same bool
	}{
		{"first   1/1   3s\n", "first   1/1   2m10s   \n", true},
		{"5s (x2 over 8s)  Warning", "12s  Warning", true},
		{"PodGroup:   llm-b567b7ca-285a-4329-82ac-63a6546f8692", "PodGroup:   llm-9d33cd5c-6860-48d0-8a9b-0a35f7add02d", true},
		{"web-94496455d-2874t   1/1", "web-94496455d-pv4j9   1/1", true},
		{"first   1/1   3s\n", "first   0/1   3s\n", false},
		{"first   1/1   3s\n", "second   1/1   3s\n", false},
		{"NVIDIA-H200/mig-1g.18gb-mixed", "NVIDIA-H200/mig-3g.71gb-mixed", false},
		{"NVIDIA-H800/mps-80g*1/4", "NVIDIA-H800/mps-80g*1/2", false},
		{"QUOTA   3", "QUOTA  3", false},
		{"total would be <7>", "total would be <8>", false},
	} {
		require.Equal(t, each.same, steady(each.a) == steady(each.b), "%q, %q", each.a, each.b)
	}
}
