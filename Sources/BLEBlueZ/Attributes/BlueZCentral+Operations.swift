public import BLE
internal import DBus
internal import Waiting

/// Reading and writing of attributes: `ReadValue` and `WriteValue`.
extension BlueZCentral {
    /// Calls the operation's method. Only a failure takes a task: to find out its reason, and to try again.
    ///
    /// Long values are read and written in parts. The signal of a read is not delivered as a notification.
    public func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        let (object, call): (AttributeObject, MethodCall)
        do throws(BLEError) {
            object = try self.object(attribute)
            call = self.call(operation, of: object, attribute)
            if lostRequests.has(call) { throw LostRequests.error }
        } catch {
            completion(.failure(error))
            return {}
        }
        let start = elapsed()
        let number = calls.next()
        let kind = operation.kind(on: object)
        let finish: @Sendable (Result<[UInt8], BLEError>, Duration) -> Void = { [self] result, start in
            switch result {
            case .failure(let error) where error.code != .cancelled:
                enter { $0.persist(number, operation, at: object, after: (error, start), completion) }
            case .success, .failure: completion(result)
            }
        }
        begin(call, number, operation, during: kind) { [self] result in
            guard case .failure(let error) = result, operation.isRead, error.attError == .unlikelyError else {
                return finish(result, start)
            }
            enter { central in
                guard central.mayHaveBegunPairing(object.path, since: start) else { return finish(result, start) }
                // At once: the prompt of the pairing must find an operation that waits for it.
                let again = central.elapsed()
                central.begin(call, number, operation, during: kind) { finish($0, again) }
            }
        }
        return { [self] in
            enter { central in
                central.calls.cancelRetry(number)
                central.fail(number, .cancelled)
            }
        }
    }

    /// Whether an operation may have failed with 0x0e because bluetoothd has begun to pair. If an attribute requires
    /// more security, bluetoothd pairs and repeats the request, sometimes before the kernel lets it send
    /// (`can_write_data` in its `src/shared/att.c`). It then fails the call, and the pairing goes on.
    private func mayHaveBegunPairing(_ path: String, since start: Duration) -> Bool {
        guard elapsed() - start < Self.silence, let device = ObjectTree.device(ofAttribute: path) else { return false }
        return isConnected(device) && objects.devices[device]?.isPaired == false
    }

    /// Returns the call of an operation's method. The call that reads a characteristic is made once and kept.
    private func call(
        _ operation: AttributeOperation, of object: AttributeObject, _ attribute: AttributeID
    ) -> MethodCall {
        guard case .read(offset: 0) = operation else { return operation.call(at: object.path) }
        if let call = object.readCall { return call }
        var call = operation.call(at: object.path)
        call.prepare()
        attributes[attribute]?.readCall = call
        return call
    }

    /// Determines the reason for a failure, and retries if the failure is temporary.
    private func persist(
        _ number: Int, _ operation: AttributeOperation, at object: AttributeObject,
        after failure: (BLEError, Duration),
        _ completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) {
        calls.setRetry(
            number,
            Task(executorPreference: taskExecutor) {
                // Several steps: the operation is known by its number.
                let result = await self.persist(operation, at: object, after: failure)
                await self.endRetry(number, result, completion)
            })
    }

    private func persist(
        _ operation: AttributeOperation, at object: AttributeObject,
        after failure: (error: BLEError, start: Duration)? = nil
    ) async -> Result<[UInt8], BLEError> {
        do throws(BLEError) {
            return .success(
                try await persisting(at: object.path, after: failure) { () throws(BLEError) in
                    try await self.attempt(
                        operation.call(at: object.path), operation, during: operation.kind(on: object))
                })
        } catch {
            return .failure(error)
        }
    }

    private func endRetry(
        _ number: Int, _ result: Result<[UInt8], BLEError>,
        _ completion: @Sendable (Result<[UInt8], BLEError>) -> Void
    ) {
        calls.endRetry(number)
        completion(result)
    }

    /// Calls a method of an attribute. Returns what was read.
    ///
    /// - Parameter isUnsent: called if the caller is cancelled before the call is sent.
    func attempt(
        _ call: MethodCall, _ operation: AttributeOperation? = nil, during kind: BlueZOperation = .request,
        isUnsent: () -> Void = {}
    ) async throws(BLEError) -> [UInt8] {
        if Task.isCancelled {
            isUnsent()
            throw .cancelled
        }
        let outcome = Outcome<[UInt8]>()
        let number = calls.next()
        begin(call, number, operation, during: kind) { outcome.deliver($0) }
        defer { if giveUp(number) { isUnsent() } }
        return try await outcome.wait()
    }

    /// Ends a call whose caller no longer waits. A call that was sent continues, because its answer will arrive, and
    /// with the answer of a read its signal. Returns whether the call was withdrawn before it was sent.
    @discardableResult private func giveUp(_ number: Int) -> Bool {
        calls.remove(number).map { withdraw($0) } ?? false
    }

    @discardableResult private func withdraw(_ call: AttributeCalls.Call) -> Bool {
        guard let pending = call.pending, onStack({ $0.withdraw(pending) }) else { return false }
        if let path = call.readPath { withdrawRead(path) }
        return true
    }

    /// Fails a call.
    func fail(_ number: Int, _ error: BLEError) {
        guard let call = calls.remove(number) else { return }
        withdraw(call)
        call.completion(.failure(error))
    }

    /// Calls a method of an attribute. Each call is ended with ``giveUp(_:)``, ``fail(_:_:)`` or its answer.
    ///
    /// If an attribute requires it, BlueZ raises the security of the link by pairing, and repeats the operation. If the
    /// pairing is refused, BlueZ answers neither that operation nor any other on the link for 30 s.
    private func begin(
        _ call: MethodCall, _ number: Int, _ operation: AttributeOperation?, during kind: BlueZOperation,
        completion: @escaping AttributeCalls.Completion
    ) {
        let (path, hasValue) = (call.path, call.method == "ReadValue")
        let offset: Int? = if case .read(let offset)? = operation { offset } else { nil }
        calls.add(
            number, on: call.object ?? path, reading: offset == nil ? nil : path, completion: completion)
        if offset != nil { beginRead(path) }
        let pending = onStack { stack in
            stack.start(call, during: kind, timeout: Self.attributeTimeout) { (body) throws(DBusError) in
                hasValue ? try body.bytes() : []
            } completion: { [self] result in
                enter { central in
                    if let offset { central.endRead(path, try? result.get(), offset) }
                    central.calls.remove(number)?.completion(result)
                }
            }
        }
        if let pending { calls.setPending(number, pending) }
    }
}

extension MethodCall {
    /// Returns a call of an attribute's method, for which bluetoothd asks the peripheral.
    static func attribute(
        _ path: String, _ interface: String, _ method: String, _ arguments: DBusValue...
    ) -> MethodCall {
        var call = MethodCall(BlueZ.service, path, interface, method, arguments)
        call.pace = .slow
        call.object = ObjectTree.device(ofAttribute: path)
        return call
    }
}

extension AttributeOperation {
    /// The kind of operation, which depends on whether the peripheral or bluetoothd answers.
    fileprivate func kind(on object: AttributeObject) -> BlueZOperation {
        switch self {
        case .read, .readDescriptor: .request
        case .write, .writeDescriptor: object.writing
        }
    }

    fileprivate var isRead: Bool {
        switch self {
        case .read, .readDescriptor: true
        case .write, .writeDescriptor: false
        }
    }

    /// Returns the call of the operation's method.
    fileprivate func call(at path: String) -> MethodCall {
        switch self {
        case .read(let offset):
            return .attribute(path, BlueZ.gattCharacteristic, "ReadValue", .options(Self.options(offset)))
        case .write(let value, let type, let offset):
            var options = Self.options(offset)
            options["type"] = .string(Self.name(type))
            return .attribute(path, BlueZ.gattCharacteristic, "WriteValue", .bytes(value), .options(options))
        case .readDescriptor: return .attribute(path, BlueZ.gattDescriptor, "ReadValue", .options())
        case .writeDescriptor(let value):
            return .attribute(path, BlueZ.gattDescriptor, "WriteValue", .bytes(value), .options())
        }
    }

    private static func options(_ offset: Int) -> [String: DBusValue] {
        offset > 0 ? ["offset": .uint16(UInt16(clamping: offset))] : [:]
    }

    private static func name(_ type: WriteType) -> String {
        switch type {
        case .withResponse: "request"
        case .withoutResponse: "command"
        case .reliable: "reliable"
        }
    }
}
