package command

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve"
	"github.com/capacity-card/capacity-card/plugin"
)

// pagesOf returns the pages of files, after they were read.
func pagesOf(t *testing.T, stderr *bytes.Buffer, files ...string) http.Handler {
	t.Helper()
	s := newSource(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, ErrOut: stderr})
	s.files, s.plugin = files, plugin.Name
	reader, err := s.newReader(t.Context())
	require.NoError(t, err)
	server := serve.New(serve.Options{Source: reader, Log: s.logLine})
	go server.Run(t.Context())

	pages := server.Handler()
	ready := func() bool { return answer(pages, http.MethodGet, "/readyz", nil).Code == http.StatusOK }
	require.Eventually(t, ready, time.Minute, time.Millisecond)
	return pages
}

func answer(h http.Handler, method, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestPagesSayTheSame compares the JSON of the pages with the JSON of the commands. Lists of jobs and cards have more
// fields on the pages.
func TestPagesSayTheSame(t *testing.T) {
	stderr := &bytes.Buffer{}
	h := pagesOf(t, stderr, scene)
	for path, arguments := range map[string][]string{
		"/queues.json":                {"top"},
		"/queues.json?queue=research": {"top", "research"},
		"/waiting.json":               {"explain"},
		"/waiting.json?queue=lab":     {"explain", "queue", "lab"},
		"/job/default/llm/json":       {"explain", "job", "llm"},
		"/job/default/tune/json":      {"explain", "job", "tune"},
		"/cards.json":                 {"cards"},
		"/holders.json?by=namespace":  {"top", "--by", "namespace"},
		"/holders.json?queue=lab":     {"top", "lab", "--by", "user"},
	} {
		code, stdout, _ := run("", append(arguments, "-o", "json", "-f", scene)...)
		require.Zero(t, code)
		w := answer(h, http.MethodGet, path, nil)
		assert.Equal(t, http.StatusOK, w.Code, path)
		if strings.HasPrefix(path, "/waiting") || strings.HasPrefix(path, "/cards") {
			var want, got any
			require.NoError(t, json.Unmarshal([]byte(stdout), &want))
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			assert.Equal(t, want, common(want, got), path)
			continue
		}
		assert.Equal(t, stdout, w.Body.String(), path)
	}
	form := url.Values{"set": {"queue/research:cards.NVIDIA-H200=7"}, "remove": {"node/ascend-1"}}
	_, stdout, _ := run("", "simulate", "-o", "json", "-f", scene, "--set", form.Get("set"), "--remove", form.Get("remove"))
	assert.Equal(t, stdout, answer(h, http.MethodPost, "/whatif.json", form).Body.String())

	_, _, printed := run("", "explain", "-f", scene)
	note := strings.TrimPrefix(strings.TrimSpace(printed), "note: ")
	assert.Contains(t, stderr.String(), note)
	assert.Contains(t, answer(h, http.MethodGet, "/health", nil).Body.String(), note)
}

// common returns a value of JSON without the keys of its objects that another value lacks at that place.
func common(of, value any) any {
	switch value := value.(type) {
	case map[string]any:
		own, _ := of.(map[string]any)
		kept := map[string]any{}
		for key := range own {
			if each, found := value[key]; found {
				kept[key] = common(own[key], each)
			}
		}
		return kept
	case []any:
		own, _ := of.([]any)
		kept := make([]any, len(value))
		for i := range value {
			if i < len(own) {
				kept[i] = common(own[i], value[i])
			}
		}
		return kept
	}
	return value
}

// TestServeFlags refuses addresses that others can reach, and reports files and clusters that it cannot read.
func TestServeFlags(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	for name, c := range map[string]struct {
		arguments []string
		want      string
	}{
		"all addresses":          {[]string{"--listen", ":8080", "-f", scene}, "the address must be one of this machine"},
		"another address":        {[]string{"--listen", "0.0.0.0:8080", "-f", scene}, "the address must be one of this machine"},
		"tokens in plain text":   {[]string{"--listen", ":8443", "--authenticate"}, "tokens come from other machines, which needs --tls-cert-file"},
		"a bad address":          {[]string{"--listen", "localhost:none", "-f", scene}, "--listen: "},
		"no such file":           {[]string{"--listen", "localhost:0", "-f", "none"}, "no such file"},
		"no configuration":       {[]string{"--listen", "localhost:0", "--kubeconfig", "none"}, "no cluster to read"},
		"no kubeconfig":          {[]string{"--listen", "localhost:0"}, "no cluster to read: there is no kubeconfig"},
		"a bad --scheduler-conf": {[]string{"--listen", "localhost:0", "-f", scene, "--scheduler-conf", "serve_test.go"}, "serve_test.go: the scheduler configuration"},
		"the same of a cluster":  {[]string{"--listen", "localhost:0", "--server", "http://127.0.0.1:1", "--scheduler-conf", "none"}, "open none"},
		"a bad interval":         {[]string{"--interval", "0s", "-f", scene}, "--interval: must be positive"},
	} {
		code, stdout, stderr := run("", append([]string{"serve"}, c.arguments...)...)
		assert.Equal(t, 2, code, name)
		assert.Empty(t, stdout, name)
		assert.Contains(t, stderr, c.want, name)
	}
}

// ending ends a context with the first line that is written.
type ending struct {
	bytes.Buffer
	end context.CancelFunc
}

func (e *ending) Write(p []byte) (int, error) {
	defer e.end()
	return e.Buffer.Write(p)
}

// TestServeUntilInterrupted prints the address, and ends with 130.
func TestServeUntilInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &ending{end: cancel}
	code := Run(ctx, "cardctl", []string{"serve", "-f", scene, "--listen", "127.0.0.1:0"}, genericiooptions.IOStreams{In: os.Stdin, Out: out, ErrOut: &bytes.Buffer{}})
	assert.Equal(t, 130, code)
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+\n$`, out.String())
}

// TestSecretsAreNotShown keeps secrets of the command line off the pages.
func TestSecretsAreNotShown(t *testing.T) {
	cmd := newServe(newSource(genericiooptions.NewTestIOStreamsDiscard()))
	require.NoError(t, cmd.ParseFlags([]string{"--token", "secret", "-f", "a b", "-f", "c", "--listen", "localhost:0", "--plugin", "capacity"}))
	assert.Equal(t, []string{"--filename", "a b", "--filename", "c", "--plugin=capacity"}, sourceFlags(cmd.Flags(), notShown...))
}
