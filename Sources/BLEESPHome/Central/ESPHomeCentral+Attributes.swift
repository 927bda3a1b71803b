public import BLE
internal import Loop
internal import Waiting

extension ESPHomeCentral {
    /// Reads or writes a value. A proxy reads and writes whole values: an offset is applied to what was read, and
    /// refused for a write.
    public func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        do throws(BLEError) {
            let (address, link) = try link(attribute.peripheral)
            guard let handle = link.handles[attribute.handle] else {
                throw BLEError(.characteristicNotFound, "the peripheral has no attribute \(attribute.handle)")
            }
            switch operation {
            case .read(let offset):
                return request(.value, address, handle, .read(address: address, handle: handle)) { result in
                    completion(Self.rest(of: result, from: offset))
                }
            case .write(let value, .withResponse, 0):
                try Self.check(value, maximum: 512)
                return request(
                    .done, address, handle,
                    .write(address: address, handle: handle, withResponse: true, value), completion)
            case .write(let value, .withoutResponse, 0):
                try Self.check(value, maximum: (link.mtu ?? 23) - 3)
                let message = ProxyMessage.write(address: address, handle: handle, withResponse: false, value)
                if isCongested {
                    let cancellation = requests.add(.sent, address: address, handle: handle, completion)
                    send(message)
                    completeWhenSent(cancellation)
                    return cancelling(cancellation)
                }
                send(message)
                completion(.success([]))
            case .write: throw BLEError(.notSupported, "a proxy writes whole values", isRetryable: false)
            case .readDescriptor:
                return request(
                    .value, address, handle, .readDescriptor(address: address, handle: handle), completion)
            case .writeDescriptor(let value):
                try Self.check(value, maximum: 512)
                return request(
                    .done, address, handle, .writeDescriptor(address: address, handle: handle, value), completion)
            }
        } catch {
            completion(.failure(error))
        }
        return {}
    }

    private static func check(_ value: [UInt8], maximum: Int) throws(BLEError) {
        guard value.count <= maximum else {
            throw BLEError(.invalidLength, "\(value.count) bytes are more than \(maximum)", isRetryable: false)
        }
    }

    private static func rest(
        of result: Result<[UInt8], BLEError>, from offset: Int
    ) -> Result<[UInt8], BLEError> {
        guard offset > 0, case .success(let value) = result else { return result }
        guard offset <= value.count else { return .failure(BLEError(ATTError.invalidOffset)) }
        return .success(Array(value.dropFirst(offset)))
    }

    /// Sends a request. Returns what cancels it.
    private func request(
        _ answer: ProxyRequests.Answer, _ address: UInt64, _ handle: UInt32, _ message: ProxyMessage,
        _ completion: @escaping ProxyRequests.Completion
    ) -> @Sendable () -> Void {
        let cancellation = requests.add(answer, address: address, handle: handle, completion)
        send(message)
        return cancelling(cancellation)
    }

    private func cancelling(_ cancellation: ProxyRequests.Cancellation) -> @Sendable () -> Void {
        { [weak self, loop] in
            guard let self else { return }
            enter(isCurrent: loop.isCurrent) { $0.requests.cancel(cancellation) }?(.failure(.cancelled))
        }
    }

    /// Sends a request, and waits for the answer.
    func request(
        _ answer: ProxyRequests.Answer, _ address: UInt64, handle: UInt32 = 0, _ send: () -> Void
    ) async throws(BLEError) {
        let outcome = Outcome<[UInt8]>()
        let cancellation = requests.add(answer, address: address, handle: handle) { outcome.deliver($0) }
        send()
        do throws(BLEError) {
            _ = try await outcome.wait()
        } catch {
            _ = requests.cancel(cancellation)
            throw error
        }
    }

    func attributeFailed(_ address: UInt64, _ handle: UInt32, _ error: BLEError) {
        if let completion = requests.takeFailed(address: address, handle: handle) {
            return completion(.failure(error))
        }
        // An error without an attribute is that of the discovery.
        guard handle == 0, let outcome = links[address]?.discovery else { return }
        links[address]?.discovery = nil
        outcome.deliver(.failure(error))
    }

    // MARK: Notifications

    /// Starts notifications. If the proxy leaves it to its clients to remember services, this writes the
    /// characteristic's Client Characteristic Configuration, as such a proxy expects.
    public func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) {
        let (address, link) = try link(characteristic.peripheral)
        guard let handle = link.handles[characteristic.handle] else {
            throw BLEError(
                .characteristicNotFound, "the peripheral has no characteristic \(characteristic.handle)")
        }
        let attribute = AttributeOfProxy(address: address, handle: handle)
        deliveries[attribute] = deliver
        do throws(BLEError) {
            try await request(.subscription, address, handle: handle) {
                send(.notify(address: address, handle: handle, isEnabled: true))
            }
            guard info.features.contains(.remoteCaching),
                let configuration = link.configurations[characteristic.handle]
            else { return }
            try await request(.done, address, handle: configuration.handle) {
                send(
                    .writeDescriptor(address: address, handle: configuration.handle, configuration.value))
            }
        } catch {
            deliveries[attribute] = nil
            if links[address]?.isUp == true {
                send(.notify(address: address, handle: handle, isEnabled: false))
            }
            throw error
        }
    }

    /// The maximum wait for an answer to the end of notifications, which not every proxy sends.
    private static let stopping = Duration.seconds(2)

    /// Stops notifications.
    public func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        guard let (address, link) = try? link(characteristic.peripheral),
            let handle = link.handles[characteristic.handle],
            deliveries.removeValue(forKey: AttributeOfProxy(address: address, handle: handle)) != nil
        else { return }
        let outcome = Outcome<[UInt8]>()
        let cancellation = requests.add(.subscription, address: address, handle: handle) { outcome.deliver($0) }
        send(.notify(address: address, handle: handle, isEnabled: false))
        let expiry = Expiry(after: Self.stopping, clock: configuredClock) { [weak self, loop] in
            loop.perform { [weak self] in
                // An answer that arrives later must not count for the next start.
                guard let self else { return }
                assumeIsolated { $0.requests.remove(cancellation) }?(.success([]))
            }
        }
        defer { expiry.cancel() }
        _ = try await outcome.wait()
    }
}
