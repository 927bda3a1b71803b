internal import Waiting

/// An operation on an attribute of a connected peripheral, from its beginning to its outcome.
///
/// If the backend can start it at once, it takes no task of its own: the answer resumes the caller.
final class PendingOperation: Sendable {
    let operation: AttributeOperation
    let attribute: AttributeID
    /// Called right before the operation is started, in the central's isolation.
    let willStart: (@Sendable () -> Void)?
    let token: Int
    let outcome = Outcome<[UInt8]>()
    let deadline: Expiry
    private let central: Central
    private let target: Central.Target

    init(
        _ operation: AttributeOperation, on attribute: AttributeID, of target: Central.Target, _ token: Int,
        in central: Central, timeout: Duration, willStart: (@Sendable () -> Void)?
    ) {
        (self.operation, self.attribute, self.target, self.token) = (operation, attribute, target, token)
        (self.central, self.willStart) = (central, willStart)
        deadline = central.deadline(timeout, operation.name, outcome)
    }

    /// Waits for the result, the deadline, the caller's cancellation, or the end of the link, whichever comes first.
    ///
    /// - Returns: what was read; for a write, nothing.
    func value() async throws(BLEError) -> [UInt8] {
        do throws(BLEError) {
            return try await outcome.wait()
        } catch {
            // After an error of the backend, nothing is left to be done.
            await central.abandon(self)
            throw operation.advised(error).at(
                attribute.peripheral, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
    }
}

extension Central {
    /// Begins an operation on a characteristic, or on one of its descriptors if `attribute` is given.
    func begin(
        _ operation: AttributeOperation, on target: Target, attribute: AttributeID? = nil, timeout: Duration?,
        willStart: (@Sendable () -> Void)? = nil
    ) -> PendingOperation {
        let pending = PendingOperation(
            operation, on: attribute ?? target.attribute, of: target, token(), in: self,
            timeout: timeout ?? configuration.operationTimeout, willStart: willStart)
        let start = { [self] in self.start(pending) }
        let hasTurn = operations.begin(
            pending.token, on: pending.attribute.peripheral, using: .value(pending.attribute),
            fail: { pending.outcome.deliver(.failure($0)) }, isAwaited: { pending.outcome.isOpen }, start: start)
        if hasTurn { start() }
        return pending
    }

    private func start(_ pending: PendingOperation) {
        pending.willStart?()
        let cancel = backend.enter(isCurrent: backend.isCurrent) { backend in
            backend.start(pending.operation, on: pending.attribute) { [self] result in
                enter { $0.complete(pending, result) }
            }
        }
        if let cancel { return operations.setRunning(pending.token, .started(cancel: cancel)) }
        // On the backend's thread, as `performUntraced` says.
        let task = Task(executorPreference: backend.taskExecutor) { await self.run(pending) }
        operations.setRunning(pending.token, .task(task))
    }

    /// Runs an operation that the backend does not start at once.
    private func run(_ pending: PendingOperation) async {
        do throws(BLEError) {
            complete(pending, .success(try await backend.perform(pending.operation, on: pending.attribute)))
        } catch {
            complete(pending, .failure(error))
        }
    }

    /// Ends an operation with its result. It may have been abandoned.
    private func complete(_ pending: PendingOperation, _ result: Result<[UInt8], BLEError>) {
        pending.deadline.cancel()
        if case .read(offset: 0) = pending.operation, case .success(let value) = result {
            connections[pending.attribute.peripheral]?.didRead(value, from: pending.attribute.handle, at: elapsed())
        }
        leave(pending.token, on: pending.attribute.peripheral, isComplete: true)
        operations.finish(pending.token, using: .value(pending.attribute))?()
        pending.outcome.deliver(result)
    }

    /// Ends an operation whose caller does not wait for its result any more.
    fileprivate func abandon(_ pending: PendingOperation) {
        pending.deadline.cancel()
        leave(pending.token, on: pending.attribute.peripheral)
    }
}

extension CentralBackend {
    /// Performs an operation. Returns what was read; for a write, nothing.
    fileprivate func perform(
        _ operation: AttributeOperation, on attribute: AttributeID
    ) async throws(BLEError) -> [UInt8] {
        switch operation {
        case .read(let offset): return try await read(attribute, offset: offset)
        case .write(let value, let type, let offset):
            try await write(value, to: attribute, type: type, offset: offset)
            return []
        case .readDescriptor: return try await readDescriptor(attribute)
        case .writeDescriptor(let value):
            try await writeDescriptor(value, to: attribute)
            return []
        }
    }
}
