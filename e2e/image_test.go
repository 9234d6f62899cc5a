package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// image is an image that packaging built. Its files are in root.
type image struct {
	root   string
	config struct {
		User       string
		Entrypoint []string
		Env        []string
		Labels     map[string]string
	}
}

// packaging builds the program packaging and returns where it is.
func packaging(t *testing.T) string {
	t.Helper()
	path, err := buildPackaging()
	require.NoError(t, err)
	return path
}

var buildPackaging = sync.OnceValues(func() (string, error) {
	path, err := filepath.Abs("../bin/packaging")
	if err != nil {
		return "", err
	}
	command := exec.Command("go", "build", "-C", "../packaging", "-o", path, ".")
	command.Env = append(os.Environ(), "GOFLAGS=")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building packaging: %w\n%s", err, output)
	}
	return path, nil
})

// layouts are the images that were built, by program.
var layouts = map[string]string{}

// buildImage builds the image of a program for this machine, as make image does for others too, and returns its layout.
func buildImage(t *testing.T, name string) (layout string) {
	t.Helper()
	if layouts[name] == "" {
		output, err := exec.Command(packaging(t), "image", "-source", "..", "-programs", name, "-platforms", "linux/"+runtime.GOARCH,
			"-binaries", "../bin/binaries", "-o", "../bin/e2e/images").CombinedOutput()
		require.NoError(t, err, "%s", output)
		layouts[name] = filepath.Join("../bin/e2e/images", name)
	}
	return layouts[name]
}

// descriptor names a blob of an OCI layout.
type descriptor struct {
	Digest   string
	Platform struct{ Architecture string }
}

// unpack writes the files of an image for this machine to a new directory, layer by layer.
func unpack(t *testing.T, layout string) (i image) {
	t.Helper()
	i.root = t.TempDir()
	// The files belong to root, and others have to reach them.
	require.NoError(t, os.Chmod(i.root, 0o755))
	path := func(d descriptor) string {
		return filepath.Join(layout, "blobs", strings.Replace(d.Digest, ":", "/", 1))
	}
	var named, index struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	require.NoError(t, json.Unmarshal(read(t, filepath.Join(layout, "index.json")), &named))
	require.NoError(t, json.Unmarshal(read(t, path(named.Manifests[0])), &index))
	at := slices.IndexFunc(index.Manifests, func(d descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	require.GreaterOrEqual(t, at, 0, "there is no image for this machine")
	require.NoError(t, json.Unmarshal(read(t, path(index.Manifests[at])), &manifest))
	require.NoError(t, json.Unmarshal(read(t, path(manifest.Config)), &struct{ Config any }{&i.config}))
	for _, layer := range manifest.Layers {
		output, err := exec.Command("tar", "--extract", "--gzip", "--preserve-permissions", "--directory", i.root, "--file", path(layer)).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	return i
}

// container is a container that runc runs. It has a network of its own, in which the API server is at 127.0.0.1:443.
type container struct {
	id, directory, runtime string
	pid                    int
	// client speaks to the addresses of the container's network.
	client http.Client
}

// runc returns the program that starts containers, and skips a test where it cannot.
func runc(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start containers with the user of the image")
	}
	for _, candidate := range []string{"../bin/runc/usr/sbin/runc", "runc"} {
		if path, err := exec.LookPath(candidate); err == nil {
			path, err = filepath.Abs(path)
			require.NoError(t, err)
			return path
		}
	}
	t.Skip("there is no runc: make runc gets it")
	return ""
}

// startPod starts the only container of a pod as the kubelet would: its arguments, environment, user, capabilities,
// root file system, volumes, and the token of its service account.
func (c *cluster) startPod(t *testing.T, layout, namespace string, pod corev1.PodSpec) *container {
	t.Helper()
	i, directory := unpack(t, layout), t.TempDir()
	made := &container{id: filepath.Base(directory) + "-" + filepath.Base(filepath.Dir(directory)), directory: directory, runtime: runc(t)}
	spec := c.bundle(t, i, namespace, pod, directory)
	text, err := json.Marshal(spec)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "config.json"), text, 0o600))

	log, err := os.Create(filepath.Join(directory, "log"))
	require.NoError(t, err)
	defer log.Close()
	create := exec.Command(made.runtime, "--root", filepath.Join(directory, "state"), "create", "--bundle", directory,
		"--pid-file", filepath.Join(directory, "pid"), made.id)
	create.Stdout, create.Stderr = log, log
	require.NoError(t, create.Run(), "%s", made.readLog(t))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the container ends with\n%s", tail(made.readLog(t), 40))
		}
		made.end(t)
	})
	made.pid, err = strconv.Atoi(string(read(t, filepath.Join(directory, "pid"))))
	require.NoError(t, err)
	made.client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
		return within(made.pid, func() (net.Conn, error) { return net.Dial(network, address) })
	}}
	listener, err := within(made.pid, func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:443") })
	require.NoError(t, err)
	w := &wire{listener: listener, to: c.Address}
	go w.serve()
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		w.set(true)
	})
	made.command(t, "start")
	return made
}

// within calls a function in the network of a process.
func within[T any](pid int, call func() (T, error)) (result T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the thread, which is in another network from then on, ends with the goroutine.
		runtime.LockOSThread()
		var network *os.File
		if network, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", pid)); err != nil {
			return
		}
		defer network.Close()
		if err = unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err != nil {
			return
		}
		result, err = call()
	}()
	<-done
	return result, err
}

func (m *container) command(t *testing.T, arguments ...string) {
	t.Helper()
	command := append([]string{"--root", filepath.Join(m.directory, "state")}, arguments...)
	output, err := exec.Command(m.runtime, append(command, m.id)...).CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// end kills the container and removes it.
func (m *container) end(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(m.directory, "state", m.id)); err == nil {
		m.command(t, "delete", "--force")
	}
}

func (m *container) readLog(t *testing.T) string {
	return string(read(t, filepath.Join(m.directory, "log")))
}

func (m *container) logs(t *testing.T, words string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(m.readLog(t), words) }, patience, schedulePeriod, "the log should say %q", words)
}

// finishes waits until the container has ended by itself.
func (m *container) finishes(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		output, err := exec.Command(m.runtime, "--root", filepath.Join(m.directory, "state"), "state", m.id).Output()
		return err == nil && strings.Contains(string(output), `"status": "stopped"`)
	}, patience, schedulePeriod)
}

// bundle describes a container as the OCI runtime specification has it.
func (c *cluster) bundle(t *testing.T, i image, namespace string, pod corev1.PodSpec, directory string) map[string]any {
	t.Helper()
	require.Len(t, pod.Containers, 1)
	require.Empty(t, pod.InitContainers)
	of := pod.Containers[0]
	security := corev1.SecurityContext{}
	if of.SecurityContext != nil {
		security = *of.SecurityContext
	}
	require.Equal(t, []corev1.Capability{"ALL"}, security.Capabilities.Drop, "the capabilities of a container runtime are not played")
	capabilities := []string{}
	for _, capability := range security.Capabilities.Add {
		capabilities = append(capabilities, "CAP_"+string(capability))
	}
	sets := map[string]any{}
	for _, set := range []string{"bounding", "effective", "permitted"} {
		sets[set] = capabilities
	}
	arguments := slices.Concat(i.config.Entrypoint, of.Args)
	if len(of.Command) > 0 {
		arguments = slices.Concat(of.Command, of.Args)
	}
	return map[string]any{
		"ociVersion": "1.0.2",
		"process": map[string]any{
			"args": arguments, "env": environment(t, i, of), "cwd": "/", "user": userOf(t, i, pod, security), "capabilities": sets,
			"noNewPrivileges": security.AllowPrivilegeEscalation != nil && !*security.AllowPrivilegeEscalation,
		},
		"root":     map[string]any{"path": i.root, "readonly": security.ReadOnlyRootFilesystem != nil && *security.ReadOnlyRootFilesystem},
		"hostname": "pod",
		"mounts":   c.mounts(t, namespace, pod, directory),
		"linux": map[string]any{"namespaces": []map[string]any{
			{"type": "pid"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"},
		}},
	}
}

// environment is the variables of the image, the variables of the container, and the address of the API server.
func environment(t *testing.T, i image, of corev1.Container) []string {
	t.Helper()
	variables := append(slices.Clone(i.config.Env), "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=443")
	for _, variable := range of.Env {
		value := variable.Value
		if variable.ValueFrom != nil {
			require.Equal(t, "limits.memory", variable.ValueFrom.ResourceFieldRef.Resource)
			value = strconv.FormatInt(of.Resources.Limits.Memory().Value(), 10)
		}
		variables = append(variables, variable.Name+"="+value)
	}
	return variables
}

// userOf is the user of the container, else of the pod, else of the image. The kubelet refuses one that must not be
// root and is.
func userOf(t *testing.T, i image, pod corev1.PodSpec, security corev1.SecurityContext) map[string]any {
	t.Helper()
	uid, gid, found := strings.Cut(i.config.User, ":")
	require.True(t, found)
	if pod.SecurityContext == nil {
		pod.SecurityContext = &corev1.PodSecurityContext{}
	}
	number := func(fallback string, of ...*int64) int64 {
		for _, each := range of {
			if each != nil {
				return *each
			}
		}
		n, err := strconv.ParseInt(fallback, 10, 64)
		require.NoError(t, err, "the kubelet sees only of a number that it is not root")
		return n
	}
	user := map[string]any{
		"uid": number(uid, security.RunAsUser, pod.SecurityContext.RunAsUser),
		"gid": number(gid, security.RunAsGroup, pod.SecurityContext.RunAsGroup),
	}
	require.NotZero(t, user["uid"])
	if group := pod.SecurityContext.FSGroup; group != nil {
		user["additionalGids"] = []int64{*group}
	}
	return user
}

// mounts are the mounts that every container has, the mounts of the pod's volumes, and the mount of its service
// account.
func (c *cluster) mounts(t *testing.T, namespace string, pod corev1.PodSpec, directory string) []map[string]any {
	t.Helper()
	mounts := []map[string]any{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
	}
	bind := func(source, destination string, readOnly bool) {
		mode := "rw"
		if readOnly {
			mode = "ro"
		}
		mounts = append(mounts, map[string]any{"destination": destination, "type": "bind", "source": source, "options": []string{"rbind", mode}})
	}
	volumes := map[string]string{}
	for _, volume := range pod.Volumes {
		path := filepath.Join(directory, "volume-"+volume.Name)
		require.NoError(t, os.Mkdir(path, 0o755))
		switch {
		case volume.ConfigMap != nil:
			configMap, err := c.Kube.CoreV1().ConfigMaps(namespace).Get(t.Context(), volume.ConfigMap.Name, metav1.GetOptions{})
			require.NoError(t, err)
			writeVolume(t, path, configMap.Data)
		case volume.Secret != nil:
			secret, err := c.Kube.CoreV1().Secrets(namespace).Get(t.Context(), volume.Secret.SecretName, metav1.GetOptions{})
			require.NoError(t, err)
			for name, text := range secret.Data {
				writeVolume(t, path, map[string]string{name: string(text)})
			}
		default:
			require.NotNil(t, volume.EmptyDir, "volume %s is not played", volume.Name)
			require.NoError(t, os.Chmod(path, 0o777))
		}
		volumes[volume.Name] = path
	}
	for _, mount := range pod.Containers[0].VolumeMounts {
		bind(volumes[mount.Name], mount.MountPath, mount.ReadOnly)
	}
	account := pod.ServiceAccountName
	if account == "" {
		account = pod.DeprecatedServiceAccount
	}
	token, err := c.Kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authentication.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	path := filepath.Join(directory, "account")
	require.NoError(t, os.Mkdir(path, 0o755))
	writeVolume(t, path, map[string]string{
		"token": token.Status.Token, "namespace": namespace, "ca.crt": string(c.RestConfig.CAData),
	})
	bind(path, "/var/run/secrets/kubernetes.io/serviceaccount", true)
	return mounts
}

func writeVolume(t *testing.T, directory string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644))
	}
}

// TestImage starts the image of the scheduler as deploy/cards does: as its user, with a read-only root file system, its
// volumes, its service account and its literal arguments. It schedules.
func TestImage(t *testing.T) {
	runc(t)
	c := plane(t, "nodes.yaml")
	layout := buildImage(t, "vc-scheduler")
	objects := render(t, "../deploy/cards")
	pod := find[apps.Deployment](t, objects, "Deployment").Spec.Template.Spec
	objects = slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Deployment" })
	install(t, c)
	c.send(t, objects, "kubectl")

	m := c.startPod(t, layout, volcanoNamespace, pod)
	c.apply(t, "queue.yaml", "job-single.yaml")
	c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
	c.submit(t, "in-a-container", sixCards, h200, 2)
	c.runs(t, "in-a-container", map[string]int{h200: 1}, 1)
	c.says(t, "in-a-container", insufficient(sixCards, h200, 1, 4, 3))
	require.NotContains(t, strings.ToLower(m.readLog(t)), "forbidden")
	m.answers(t, pod.Containers[0].LivenessProbe.HTTPGet.Path, pod.Containers[0].Ports, "healthz")
	m.answers(t, "/metrics", pod.Containers[0].Ports, "metrics")
}

// answers expects an answer from a port of the container, as the kubelet and Prometheus do.
func (m *container) answers(t *testing.T, path string, ports []corev1.ContainerPort, name string) {
	t.Helper()
	at := slices.IndexFunc(ports, func(port corev1.ContainerPort) bool { return port.Name == name })
	require.GreaterOrEqual(t, at, 0)
	response, err := m.client.Get(fmt.Sprintf("http://127.0.0.1:%d%s", ports[at].ContainerPort, path))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// TestImageFiles checks the files and the metadata of the images.
func TestImageFiles(t *testing.T) {
	for _, program := range []string{"vc-scheduler", "cardctl"} {
		t.Run(program, func(t *testing.T) {
			i := unpack(t, buildImage(t, program))
			require.Equal(t, "1000:1000", i.config.User)
			require.Equal(t, []string{"/" + program}, i.config.Entrypoint)
			require.Equal(t, "Apache-2.0", i.config.Labels["org.opencontainers.image.licenses"])
			status, err := os.Stat(filepath.Join(i.root, "tmp"))
			require.NoError(t, err)
			require.Equal(t, os.ModeDir|os.ModeSticky|0o777, status.Mode())
			require.Contains(t, string(read(t, filepath.Join(i.root, "etc/passwd"))), ":1000:1000:")
			require.Contains(t, string(read(t, filepath.Join(i.root, "etc/ssl/certs/ca-certificates.crt"))), "BEGIN CERTIFICATE")
			require.FileExists(t, filepath.Join(i.root, "licenses/LICENSE"))
			require.Contains(t, string(read(t, filepath.Join(i.root, "licenses/THIRD-PARTY-LICENSES"))), "==== volcano.sh/volcano ")
			output, err := exec.Command(filepath.Join(i.root, program), "--version").Output()
			require.NoError(t, err)
			require.Contains(t, string(output), i.config.Labels["org.opencontainers.image.revision"])
		})
	}
}

// TestImageIsReproducible builds an image twice, with the programs in other directories.
func TestImageIsReproducible(t *testing.T) {
	build := func() string {
		directory := t.TempDir()
		output, err := exec.Command(packaging(t), "image", "-source", "..", "-programs", "cardctl", "-platforms", "linux/"+runtime.GOARCH,
			"-binaries", filepath.Join(directory, "binaries"), "-o", filepath.Join(directory, "images")).Output()
		require.NoError(t, err)
		return string(output)
	}
	first := build()
	require.Regexp(t, "^sha256:[0-9a-f]{64}  ghcr.io/capacity-card/cardctl:", first)
	require.Equal(t, first, build())
}
