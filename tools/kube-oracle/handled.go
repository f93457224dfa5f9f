package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// The informers of volumes and claims, which remember their handlers. Plugins keep what these handlers told them (assume caches), and a factory
// waits for its informers alone: without this, a plugin on a busy machine looks before it has heard of a claim.
type handled struct {
	handlers []cache.ResourceEventHandlerRegistration
}

type handledInformer struct {
	cache.SharedIndexInformer
	of *handled
}

func (i handledInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := i.SharedIndexInformer.AddEventHandler(handler)
	if err == nil {
		i.of.handlers = append(i.of.handlers, registration)
	}
	return registration, err
}

// To be called before the plugins are made.
func newHandled(factory informers.SharedInformerFactory) *handled {
	of := &handled{}
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	factory.InformerFor(&v1.PersistentVolumeClaim{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return handledInformer{coreinformers.NewPersistentVolumeClaimInformer(client, v1.NamespaceAll, resync, byNamespace), of}
	})
	factory.InformerFor(&v1.PersistentVolume{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return handledInformer{coreinformers.NewPersistentVolumeInformer(client, resync, cache.Indexers{}), of}
	})
	return of
}

// Until all handlers have heard of all objects.
func (h *handled) wait(ctx context.Context) {
	for _, handler := range h.handlers {
		for !handler.HasSynced() && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}
}
