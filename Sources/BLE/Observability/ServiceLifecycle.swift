#if ServiceLifecycleSupport
    public import ServiceLifecycle

    extension Central: Service {
        /// Returns after the graceful shutdown of the service group, the cancellation of the task, or
        /// ``shutDown()``; the central is shut down then. Pending operations fail with `shutDown`.
        ///
        /// A service group shuts its services down in the reverse order: name the central before those that use it.
        /// This takes about 2 s with BlueZ, and never more than 5 s.
        public func run() async {
            await untilShutdown(adapterStates())
            await shutDown()
        }
    }

    extension PeripheralHost: Service {
        /// Returns after the graceful shutdown of the service group, the cancellation of the task, or
        /// ``shutDown()``; the host is shut down then.
        ///
        /// A service group shuts its services down in the reverse order: name the host before those that use it.
        public func run() async {
            await untilShutdown(adapterStates())
            await shutDown()
        }
    }

    /// Waits for the graceful shutdown, the cancellation of the task, or the end of the owner of the states.
    private func untilShutdown(_ states: BoundedStream<AdapterState>) async {
        await withTaskGroup { group in
            group.addTask { try? await gracefulShutdown() }
            group.addTask {
                do throws(BLEError) { for try await _ in states {} } catch {}
            }
            await group.next()
            group.cancelAll()
        }
    }
#endif
