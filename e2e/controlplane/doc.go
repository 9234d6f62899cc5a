// Package controlplane runs a real Kubernetes control plane with Volcano on it in the calling process: etcd,
// kube-apiserver, Volcano's controllers and a Volcano scheduler, all linked in as libraries. It needs no container
// engine, no cluster and no network beyond the loopback interface, and is up in a few seconds.
//
// What is real is everything that decides: the API server stores, validates and watches, the controllers create pods
// and pod groups, the scheduler enqueues, binds and evicts. What is played is the machine: a node is only an object,
// and a kubelet that fits on one page sets bound pods Running and lets deleted pods go, and with the option Commands
// ends pods as their commands do. Of kube-controller-manager the garbage collector is here. The controllers of
// Deployments, ReplicaSets, ReplicationControllers, Jobs, ResourceClaims and namespaces, kube-scheduler and Volcano's
// webhooks run if they are started. Without the controller of namespaces, a namespace that is deleted is never emptied.
//
// Layout: everything on disk lives below one temporary directory that Stop removes; the API server listens on a free
// port of 127.0.0.1 and etcd on unix sockets in that directory.
//
// The components share process-wide state (feature gates, klog, plugin registries), so one control plane can be up at a
// time. A caller that wants other scheduler plugins than Volcano's registers them with Volcano's framework first.
package controlplane
