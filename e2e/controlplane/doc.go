// Package controlplane runs a real Kubernetes control plane with Volcano on it in the calling process: etcd,
// kube-apiserver, Volcano's controllers and a Volcano scheduler, all linked in as libraries. It needs no container
// engine, no cluster and no network beyond the loopback interface, and is up in a few seconds.
//
// All components that decide are real. The API server stores, validates and watches. The controllers create pods and
// pod groups. The scheduler enqueues, binds and evicts. The machines are simulated: a node is only an object, and a
// small kubelet sets bound pods Running and removes deleted pods. With the option Commands, it ends pods as their
// commands do. Of kube-controller-manager, only the garbage collector always runs. The controllers of Deployments,
// ReplicaSets, ReplicationControllers, Jobs, ResourceClaims and namespaces, the collector of pods, a simulated
// kube-scheduler and Volcano's webhooks run if they are started. Without the controller of namespaces, a deleted
// namespace is never emptied.
//
// All files are below one temporary directory, which Stop removes. The API server listens on a free port of 127.0.0.1,
// and etcd on unix sockets in that directory.
//
// The components share process-wide state (feature gates, klog, plugin registries), so a process can run one control
// plane at a time. A caller with its own scheduler plugins registers them with Volcano's framework first.
package controlplane
