public import BLE

/// Writes bytes to a Nordic UART, in packets as long as the link takes them, as fast as the system does.
///
/// What one task writes arrives in its order; what several write at the same time may be mixed. It is closed with its last reference, with
/// ``close()`` and with the link.
public final class NordicUARTWriter: Sendable {
    private let peripheral: Peripheral
    private let key: Characteristic<[UInt8]>
    /// Nil for a receiver that is written with response.
    private let packets: PacketWriter<[UInt8]>?

    init(peripheral: Peripheral, key: Characteristic<[UInt8]>, packets: PacketWriter<[UInt8]>?) {
        self.peripheral = peripheral
        self.key = key
        self.packets = packets
    }

    /// Writes bytes. Returns once the system has them all, or, with response, the peripheral.
    ///
    /// Throws what ``BLE/PacketWriter/write(_:timeout:)`` throws; some of the bytes may have been sent then.
    public func write(_ bytes: [UInt8]) async throws(BLEError) {
        let length = try await packetLength()
        for start in stride(from: 0, to: bytes.count, by: length) {
            let packet = Array(bytes[start..<min(start + length, bytes.count)])
            if let packets {
                try await packets.write(packet)
            } else {
                try await peripheral.write(packet, to: key)
            }
        }
    }

    /// Writes text in UTF-8, as it is.
    public func write(_ text: String) async throws(BLEError) { try await write(Array(text.utf8)) }

    /// Ends it; others may write again. What has been written is sent all the same.
    public func close() { packets?.close() }

    /// What fits one packet, so that nothing becomes a long write, which such receivers do not take.
    private func packetLength() async throws(BLEError) -> Int {
        if let packets { return max(1, packets.maximumLength) }
        do throws(BLEError) {
            return max(1, try await peripheral.maximumWriteLength(for: .withoutResponse))
        } catch  where error.code == .notSupported {
            // What fits the shortest packets that there are, where the system does not tell.
            return 20
        }
    }
}
