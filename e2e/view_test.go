package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/access"
)

// pages is a server of pages as a process of its own.
type pages struct {
	address string // such as https://127.0.0.1:8443
	logFile string
	client  http.Client
	stop    func() // ends the process
}

// servePages starts cardctl serve on a free port of this machine, until the test ends.
func servePages(t *testing.T, flags ...string) *pages {
	t.Helper()
	p := &pages{logFile: filepath.Join(t.TempDir(), "log")}
	log, err := os.Create(p.logFile)
	require.NoError(t, err)
	command := exec.Command(build(t, cardctl), append([]string{"serve", "--listen=127.0.0.1:0"}, flags...)...)
	command.Stderr, command.Dir = log, ".."
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	p.stop = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // that it was killed
	})
	t.Cleanup(func() {
		p.stop()
		require.NoError(t, log.Close())
		if t.Failed() {
			t.Logf("the log of the server ends with\n%s", tail(p.log(t), 20))
		}
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err, "%s", p.log(t))
	p.address = strings.TrimSpace(line)
	p.client = http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

func (p *pages) log(t *testing.T) string { return string(read(t, p.logFile)) }

// get requests a page with a token, if there is one.
func (p *pages) get(path, token string) (status int, text string, err error) {
	request, err := http.NewRequest(http.MethodGet, p.address+path, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// answers waits until a page has a status and these words.
func (p *pages) answers(t *testing.T, path, token string, status int, words ...string) {
	t.Helper()
	eventually(t, func(collect *assert.CollectT) {
		got, text, err := p.get(path, token)
		assert.NoError(collect, err)
		assert.Equal(collect, status, got, text)
		for _, each := range words {
			assert.Contains(collect, text, each)
		}
	})
}

// installView applies deploy/view without its Deployment, which it returns, with a certificate for the address at which
// tests reach it.
func (c *cluster) installView(t *testing.T) *apps.Deployment {
	t.Helper()
	objects := render(t, "../deploy/view")
	deployment := find[apps.Deployment](t, objects, "Deployment")
	c.send(t, slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Deployment" }), "kubectl")
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	require.NoError(t, err)
	secrets, name := c.Kube.CoreV1().Secrets(volcanoNamespace), deployment.Spec.Template.Spec.Volumes[0].Secret.SecretName
	err = secrets.Delete(t.Context(), name, metav1.DeleteOptions{}) // the Secret of the page
	require.True(t, err == nil || apierrors.IsNotFound(err), err)
	_, err = secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, secrets.Delete(context.Background(), name, metav1.DeleteOptions{})) })
	return deployment
}

// serveDeployed starts the server with the flags of deploy/view, and with the permissions of its service account. The
// wire connects it with the API server.
func (c *cluster) serveDeployed(t *testing.T) (*pages, *wire) {
	t.Helper()
	deployment := c.installView(t)
	pod := deployment.Spec.Template.Spec
	w, kubeconfig := layFor(t, c, c.token(t, volcanoNamespace, pod.ServiceAccountName))
	secret, err := c.Kube.CoreV1().Secrets(volcanoNamespace).Get(t.Context(), pod.Volumes[0].Secret.SecretName, metav1.GetOptions{})
	require.NoError(t, err)
	directory := t.TempDir()
	for name, text := range secret.Data {
		writeVolume(t, directory, map[string]string{name: string(text)})
	}
	flags := slices.Clone(pod.Containers[0].Args)
	require.Equal(t, "serve", flags[0])
	flags = slices.DeleteFunc(flags[1:], func(flag string) bool { return strings.HasPrefix(flag, "--listen=") })
	for i := range flags {
		flags[i] = strings.Replace(flags[i], "="+pod.Containers[0].VolumeMounts[0].MountPath+"/", "="+directory+"/", 1)
	}
	return servePages(t, append(flags, "--kubeconfig="+kubeconfig)...), w
}

// token returns a token of a service account.
func (c *cluster) token(t *testing.T, namespace, account string) string {
	t.Helper()
	token, err := c.Kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authentication.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return token.Status.Token
}

// user creates a service account that may list a resource in the namespace of the test for each of mine, and in the
// whole cluster for each of all. It returns its token.
func (c *cluster) user(t *testing.T, name string, all, mine []rbac.PolicyRule) string {
	t.Helper()
	ctx := t.Context()
	_, err := c.Kube.CoreV1().ServiceAccounts(c.namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	of, subjects := metav1.ObjectMeta{Name: name}, []rbac.Subject{{Kind: "ServiceAccount", Name: name, Namespace: c.namespace}}
	_, err = c.Kube.RbacV1().ClusterRoles().Create(ctx, &rbac.ClusterRole{ObjectMeta: of, Rules: all}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbac.ClusterRoleBinding{ObjectMeta: of, Subjects: subjects,
		RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Kube.RbacV1().Roles(c.namespace).Create(ctx, &rbac.Role{ObjectMeta: of, Rules: mine}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Kube.RbacV1().RoleBindings(c.namespace).Create(ctx, &rbac.RoleBinding{ObjectMeta: of, Subjects: subjects,
		RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		require.NoError(t, c.Kube.RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}))
		require.NoError(t, c.Kube.RbacV1().ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}))
	})
	return c.token(t, c.namespace, name)
}

// listing are rules that allow to list resources.
func listing(resources ...string) (rules []rbac.PolicyRule) {
	for _, each := range resources {
		resource, group, _ := strings.Cut(each, ".")
		rules = append(rules, rbac.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"list"}})
	}
	return rules
}

const listQueues = "queues.scheduling.volcano.sh"

// TestViewAccess runs the server as deploy/view does. It expects users with different permissions to see the objects
// that they may list, until a permission is revoked.
func TestViewAccess(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.scheduleInstalled(t)
	c.queue(t, "research", `{"NVIDIA-H200": 3}`)
	c.submit(t, "secret-plan", "research", h200, 4)
	c.runs(t, "secret-plan", map[string]int{h200: 3}, 1)
	lead := c.user(t, "lead", listing(listQueues, "nodes", "pods"), nil)
	owner := c.user(t, "owner", listing(listQueues), listing("pods"))
	guest := c.user(t, "guest", listing(listQueues), nil)
	stranger := c.user(t, "stranger", nil, nil)
	p, w := c.serveDeployed(t)

	p.answers(t, "/livez", "", http.StatusOK)
	p.answers(t, "/readyz", "", http.StatusOK)
	for _, token := range []string{lead, owner} {
		p.answers(t, "/waiting.json", token, http.StatusOK, "secret-plan")
	}
	p.answers(t, "/cards.json", lead, http.StatusOK, `"h200-1"`)
	p.answers(t, "/queue/research/json", lead, http.StatusOK, "secret-plan", `"h200-1"`)
	p.answers(t, "/queue/research", owner, http.StatusOK, "secret-plan")
	for _, path := range []string{"/overview", "/queues", "/queue/research", "/waiting", "/cards", "/cards?queue=research", "/lending", "/whatif", "/health", "/audit", "/history"} {
		for _, form := range []string{"", ".json"} {
			path, form := path, form
			if bare, query, found := strings.Cut(path, "?"); found {
				path, form = bare, form+"?"+query
			} else if path == "/queue/research" && form != "" {
				form = "/json"
			}
			for token, hidden := range map[string]string{guest: "secret-plan", owner: "h200-1"} {
				status, text, err := p.get(path+form, token)
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, status, "%s: %s", path+form, text)
				require.NotContains(t, text, hidden, path+form)
			}
			status, text, err := p.get(path+form, stranger)
			require.NoError(t, err)
			asked := strings.NewReplacer("/queue/research", "", "queue=research", "") // the address of the request
			require.NotContains(t, asked.Replace(text), "research", path+form)
			if path != "/waiting" {
				require.Equal(t, http.StatusForbidden, status, path+form)
			}
			for _, token := range []string{"", "guess", owner + "x"} {
				status, text, err := p.get(path+form, token)
				require.NoError(t, err)
				require.Equal(t, http.StatusUnauthorized, status, path+form)
				require.NotContains(t, asked.Replace(text), "research")
			}
		}
	}
	p.answers(t, "/waiting.json", guest, http.StatusOK, `"hidden": {`)

	require.NoError(t, c.Kube.RbacV1().RoleBindings(c.namespace).Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	require.NoError(t, c.Kube.CoreV1().ServiceAccounts(c.namespace).Delete(t.Context(), "lead", metav1.DeleteOptions{}))
	c.logsIn(t, p, guest)
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		status, text, err := p.get("/waiting.json", owner)
		assert.NoError(collect, err)
		assert.Equal(collect, http.StatusOK, status)
		assert.NotContains(collect, text, "secret-plan")
		status, _, err = p.get("/waiting.json", lead)
		assert.NoError(collect, err)
		assert.Equal(collect, http.StatusUnauthorized, status)
	}, access.CacheTime+patience, schedulePeriod)

	// The reviews of a new user are kept for access.CacheTime from here on. The reviews of the guest are older.
	visitor := c.user(t, "visitor", listing(listQueues), nil)
	p.answers(t, "/queues", visitor, http.StatusOK)
	w.set(true)
	p.answers(t, "/queues", visitor, http.StatusOK, "The last reading failed.")
	p.answers(t, "/queues", "never-seen", http.StatusServiceUnavailable, "cannot check your access")
	w.set(false)
	p.answers(t, "/queues", "never-seen", http.StatusUnauthorized)
	require.NotContains(t, strings.ToLower(p.log(t)), "forbidden")
}

// logsIn logs a user in with a browser, and out.
func (c *cluster) logsIn(t *testing.T, p *pages, token string) {
	t.Helper()
	b := openBrowser(t, p.address)
	b.open(t, "/waiting")
	b.picture(t, "login")
	b.accessible(t)
	b.run(t, chromedp.SetValue("#token", "no-token", chromedp.ByQuery), chromedp.Submit("#token", chromedp.ByQuery))
	b.shows(t, "The token is not valid.")
	require.Len(t, b.takeProblems(), 1, "the status 401")
	b.run(t, chromedp.SetValue("#token", token, chromedp.ByQuery), chromedp.Submit("#token", chromedp.ByQuery))
	b.shows(t, "Waiting", "guest")
	var location string
	b.run(t, chromedp.Location(&location))
	require.Equal(t, p.address+"/waiting", location)
	var cookies []*network.Cookie
	b.run(t, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		cookies, err = network.GetCookies().Do(ctx)
		return err
	}))
	require.Len(t, cookies, 1)
	require.True(t, cookies[0].HTTPOnly && cookies[0].Secure && cookies[0].Session)
	require.Equal(t, network.CookieSameSiteStrict, cookies[0].SameSite)
	b.picture(t, "hidden")
	b.run(t, chromedp.Click("form.user button", chromedp.ByQuery))
	b.shows(t, "Token of the cluster")
}

// TestViewPlain logs in at a server of this machine without a certificate. Browsers take such an address for a safe
// one, and keep the cookie.
func TestViewPlain(t *testing.T) {
	c := plane(t, "nodes.yaml")
	p := servePages(t, "--authenticate", "--kubeconfig", c.Kubeconfig(), "--scheduler-conf", "examples/cards/scheduler.conf.yaml")
	require.True(t, strings.HasPrefix(p.address, "http://"), p.address)
	guest, stranger := c.user(t, "guest", listing(listQueues), nil), c.user(t, "stranger", nil, nil)
	p.answers(t, "/queues.json", "", http.StatusUnauthorized)
	p.answers(t, "/queues.json", guest, http.StatusOK, `"default"`)
	p.answers(t, "/queues.json", stranger, http.StatusForbidden)
	c.logsIn(t, p, guest)
}

// TestViewDeployed starts the image of cardctl as deploy/view does: as its user, with a read-only root file system, its
// certificate, its service account and its literal arguments.
func TestViewDeployed(t *testing.T) {
	runc(t)
	c := plane(t, "nodes.yaml")
	layout := buildImage(t, "cardctl")
	install(t, c)
	c.send(t, render(t, "../deploy/cards"), "kubectl")
	c.queue(t, "research", `{"NVIDIA-H200": 3}`)
	guest := c.user(t, "guest", listing(listQueues), nil)
	deployment := c.installView(t)
	pod := deployment.Spec.Template.Spec
	m := c.startPod(t, layout, volcanoNamespace, pod)
	m.logs(t, "https://[::]:8443")
	m.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	for _, probe := range []*corev1.Probe{pod.Containers[0].ReadinessProbe, pod.Containers[0].LivenessProbe} {
		require.Equal(t, corev1.URISchemeHTTPS, probe.HTTPGet.Scheme)
		eventually(t, func(collect *assert.CollectT) {
			status, _, err := m.pages().get(probe.HTTPGet.Path, "")
			assert.NoError(collect, err)
			assert.Equal(collect, http.StatusOK, status)
		})
	}
	m.pages().answers(t, "/queues.json", guest, http.StatusOK, `"research"`, `"NVIDIA-H200"`)
	m.pages().answers(t, "/health", guest, http.StatusOK, "capacity-card")
	require.NotContains(t, strings.ToLower(m.readLog(t)), "forbidden")
	require.NotContains(t, m.readLog(t), "error")
}

// pages are the pages of a server in the container.
func (m *container) pages() *pages {
	return &pages{address: "https://127.0.0.1:8443", client: m.client}
}
