internal import CGLib
internal import CLoop
internal import Loop
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A stream socket to a bus. GDBus opens it, for any address that GDBus supports.
///
/// Any thread writes, and only the loop's thread reads.
final class BusSocket: BusCarrier {
    let descriptor: FileDescriptor
    var isWritableWithRoom: Bool { true }

    /// The maximum number of descriptors that the kernel passes at once (`SCM_MAX_FD`).
    private static let maximumDescriptors = 253

    init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    /// The address of the system bus in D-Bus notation.
    static func systemBusAddress() throws(DBusError) -> String {
        var error: UnsafeMutablePointer<GError>?
        guard let address = g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SYSTEM, nil, &error) else {
            throw DBusError(taking: error)
        }
        defer { g_free(address) }
        return String(cString: address)
    }

    /// Connects to the bus at an address.
    static func connect(_ address: String, until outcome: BusOutcome<BusSocket>) async throws(DBusError) -> BusSocket {
        let cancellable = Cancellable()
        let isStarted = SystemThread.start("connect") {
            do throws(DBusError) {
                outcome.deliver(.success(try BusSocket(address, cancellable)))
            } catch {
                outcome.deliver(.failure(error))
            }
        }
        guard isStarted else { throw DBusError(.unreachable, message: "there is no thread to connect with") }
        do throws(DBusError) {
            return try await outcome.wait()
        } catch {
            cancellable.cancel()
            throw error
        }
    }

    /// Connects to the bus at an address. Blocks the thread.
    private convenience init(_ address: String, _ cancellable: Cancellable) throws(DBusError) {
        var error: UnsafeMutablePointer<GError>?
        guard let stream = g_dbus_address_get_stream_sync(address, nil, cancellable.pointer, &error) else {
            throw DBusError(taking: error)
        }
        // The stream closes its own.
        defer { g_object_unref(UnsafeMutableRawPointer(stream)) }
        let descriptor = FileDescriptor(duplicating: ble_stream_descriptor(stream))
        guard descriptor.rawValue >= 0 else { throw DBusError(LoopError.exhausted) }
        self.init(descriptor)
    }

    func answered(_ serial: UInt32) {}

    /// Does nothing: the socket is closed with its last reference.
    func close() {}

    func read(into space: UnsafeMutableRawBufferPointer) -> BusReading {
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: Self.maximumDescriptors) { received in
            while true {
                var passed = Int32(received.count)
                let count = ble_receive(
                    descriptor.rawValue, space.baseAddress, space.count, received.baseAddress, &passed)
                if count > 0 {
                    guard passed >= 0 else { return .bytes(count, nil) }
                    return .bytes(count, received.prefix(Int(passed)).map { FileDescriptor(owning: $0) })
                }
                if count == 0 { return .over }
                if errno == EINTR { continue }
                return errno == EAGAIN || errno == EWOULDBLOCK ? .nothingYet : .over
            }
        }
    }

    /// Writes bytes, and descriptors with the first of them. Returns how many bytes the socket has accepted; nil if it
    /// is broken. Any thread may write.
    func write(_ bytes: ArraySlice<UInt8>, _ descriptors: [FileDescriptor]) -> Int? {
        while true {
            let count = bytes.withUnsafeBytes { bytes in
                if descriptors.isEmpty {
                    return ble_socket_send(descriptor.rawValue, bytes.baseAddress, bytes.count)
                }
                return ble_send(
                    descriptor.rawValue, bytes.baseAddress, bytes.count, descriptors.map(\.rawValue),
                    Int32(descriptors.count))
            }
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            // The system is short of memory for a while.
            case EAGAIN, EWOULDBLOCK, ENOBUFS, ENOMEM: return 0
            default: return nil
            }
        }
    }
}
