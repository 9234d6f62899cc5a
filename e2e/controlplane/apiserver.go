package controlplane

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	vcclientset "volcano.sh/apis/pkg/client/clientset/versioned"
)

const (
	// apiServerReadiness bounds the API server's start, apiServerShutdown its end.
	apiServerReadiness = 60 * time.Second
	apiServerShutdown  = 10 * time.Second
)

// startAPIServer runs kube-apiserver against the etcd of this control plane and waits until it is ready to serve.
func (cp *ControlPlane) startAPIServer(context.Context) error {
	token, err := cp.writeCredentials()
	if err != nil {
		return fmt.Errorf("writing credentials: %w", err)
	}

	// The listener is opened here rather than by a port number, which another process could take in between.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	done, err := cp.runAPIServer(listener)
	if err != nil {
		return err
	}

	cp.stops = append(cp.stops, func() error { return cp.stopAPIServer() })
	err = cp.createClients(listener.Addr().String(), token)
	if err != nil {
		return err
	}

	return cp.awaitAPIServer(done)
}

// RestartAPIServer ends the API server, and starts another one in its place, at the same address and with nothing in
// its memory. It returns when that is ready.
func (cp *ControlPlane) RestartAPIServer() error {
	err := cp.stopAPIServer()
	if err != nil {
		return err
	}

	listener, err := net.Listen("tcp", cp.Address)
	if err != nil {
		return err
	}

	done, err := cp.runAPIServer(listener)
	if err != nil {
		return err
	}

	return cp.awaitAPIServer(done)
}

// runAPIServer runs kube-apiserver on a listener. done yields its error when it ends.
func (cp *ControlPlane) runAPIServer(listener net.Listener) (done chan error, err error) {
	serverOptions, err := cp.apiServerOptions(listener)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading flags: %w", err), listener.Close())
	}

	// The API server exits the process if its context ends during its start. Therefore it does not get the caller's
	// context. The wait below runs to its end, and Stop cancels.
	serving, cancel := context.WithCancel(context.Background())
	completed, err := serverOptions.Complete(serving)
	if err == nil {
		err = utilerrors.NewAggregate(completed.Validate())
	}
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("completing options: %w", err), listener.Close())
	}

	done = make(chan error, 1)
	go func() { done <- app.Run(serving, completed) }()

	cp.stopAPIServer = func() error {
		cancel()
		select {
		case err := <-done:
			done <- err
			return nil
		case <-time.After(apiServerShutdown):
			return fmt.Errorf("kube-apiserver did not stop within %s", apiServerShutdown)
		}
	}

	return done, nil
}

// writeCredentials writes the token of the only user and the key that signs service account tokens.
func (cp *ControlPlane) writeCredentials() (token string, err error) {
	token = rand.Text()
	line := token + ",admin,admin,system:masters\n"
	err = os.WriteFile(cp.path("tokens.csv"), []byte(line), 0o600)
	if err != nil {
		return "", err
	}

	_, _, err = keyutil.LoadOrGenerateKeyFile(cp.path("service-account.key"))
	return token, err
}

// apiServerOptions returns kube-apiserver's options as its command line would set them. It disables parts that need
// missing components (service accounts, node conditions), and throttling, because all clients are in this process.
func (cp *ControlPlane) apiServerOptions(listener net.Listener) (*options.ServerRunOptions, error) {
	serverOptions := options.NewServerRunOptions()
	serverOptions.SecureServing.Listener = listener
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, section := range serverOptions.Flags().FlagSets {
		flags.AddFlagSet(section)
	}

	key := cp.path("service-account.key")
	arguments := []string{
		"--etcd-servers=unix:" + cp.path("etcd.sock"),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--cert-dir=" + cp.directory,
		"--token-auth-file=" + cp.path("tokens.csv"),
		"--authorization-mode=RBAC",
		"--anonymous-auth=false",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"--enable-priority-and-fairness=false",
		// For deploy/admission/people, see docs/deploy.md.
		"--feature-gates=MutatingAdmissionPolicy=true",
		"--runtime-config=admissionregistration.k8s.io/v1beta1=true",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
		// Bounds the shutdown to two seconds when a client, say a kubectl that watches, does not hang up.
		"--shutdown-send-retry-after=true",
	}
	if cp.compaction > 0 {
		arguments = append(arguments, "--etcd-compaction-interval="+cp.compaction.String())
	}
	err := flags.Parse(arguments)
	if err != nil {
		return nil, err
	}

	return serverOptions, serverOptions.GenericServerRunOptions.ComponentGlobalsRegistry.Set()
}

// createClients writes the kubeconfig and creates the clients.
func (cp *ControlPlane) createClients(address, token string) error {
	cp.Address = address
	err := cp.WriteKubeconfig(cp.Kubeconfig(), address, token)
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}

	cp.RestConfig, err = clientcmd.BuildConfigFromFlags("", cp.Kubeconfig())
	if err != nil {
		return err
	}

	cp.RestConfig.QPS = -1
	cp.Kube, err = kubernetes.NewForConfig(cp.RestConfig)
	if err != nil {
		return err
	}

	cp.Volcano, err = vcclientset.NewForConfig(cp.RestConfig)

	return err
}

// WriteKubeconfig writes a kubeconfig for the user with a token. address is the address of the API server or of a
// proxy.
func (cp *ControlPlane) WriteKubeconfig(path, address, token string) error {
	// The API server has signed a certificate for itself, which is its own authority.
	authority, err := os.ReadFile(cp.path("apiserver.crt"))
	if err != nil {
		return err
	}

	config := clientcmdapi.NewConfig()
	config.Clusters["controlplane"] = &clientcmdapi.Cluster{
		Server:                   "https://" + address,
		CertificateAuthorityData: authority,
	}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["controlplane"] = &clientcmdapi.Context{Cluster: "controlplane", AuthInfo: "user"}
	config.CurrentContext = "controlplane"
	return clientcmd.WriteToFile(*config, path)
}

// Kubeconfig returns the path of a kubeconfig for this control plane. The file goes with Stop.
func (cp *ControlPlane) Kubeconfig() string {
	return cp.path("kubeconfig")
}

// awaitAPIServer waits until the API server is ready and has created the namespace "default". It creates the namespace
// some time after it starts to serve. done yields the API server's error if it gives up.
func (cp *ControlPlane) awaitAPIServer(done chan error) error {
	var last error
	ready := func(ctx context.Context) (bool, error) {
		select {
		case err := <-done:
			done <- err
			return false, fmt.Errorf("the server ended: %w", err)
		default:
		}

		_, last = cp.Kube.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if last != nil {
			return false, nil
		}

		_, last = cp.Kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return !apierrors.IsNotFound(last), nil
	}

	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, apiServerReadiness, true, ready)
	if wait.Interrupted(err) {
		return fmt.Errorf("not ready after %s: %w", apiServerReadiness, last)
	}

	return err
}
