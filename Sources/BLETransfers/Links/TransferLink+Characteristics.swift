internal import BLE

extension TransferLink {
    /// A link over the characteristics of a peripheral. Connects and subscribes.
    ///
    /// - Parameter window: the bytes that the peripheral may send.
    static func characteristics(
        of service: BluetoothUUID, _ peripheral: Peripheral, window: Int
    ) async throws(BLEError) -> TransferLink {
        let inbox = PacketInbox(window: window)
        let stream = try await peripheral.notifications(
            Characteristic<[UInt8]>(.transferOutput, service: service),
            overflow: .fail(capacity: window / (TransferPacket.minimumLength - TransferPacket.dataHeaderLength) + 256))
        let reading = Task {
            do throws(BLEError) {
                for try await event in stream.events {
                    switch event {
                    case .value(let packet): guard try await inbox.add(packet) else { return }
                    // On a maintained link, the notifications go on; the transfer begins again.
                    case .gap(let error): return inbox.finish(error)
                    }
                }
                inbox.finish(BLEError(.disconnected, "the notifications have ended"))
            } catch {
                inbox.finish(error)
            }
        }
        let input = Characteristic<[UInt8]>(.transferInput, service: service)
        do throws(BLEError) {
            let (length, send, end) = try await writing(to: input, of: peripheral)
            return TransferLink(
                inbox: inbox, clock: peripheral.central.configuration.clock,
                packetLength: { min(length, maximumValueLength) }, window: { window }, send: send,
                close: {
                    reading.cancel()
                    inbox.finish(BLEError(.disconnected, "the transfer has ended"))
                    end()
                    await Task { await stream.end() }.value
                })
        } catch {
            reading.cancel()
            await Task { await stream.end() }.value
            throw error
        }
    }

    private typealias Writing = (
        length: Int, send: @Sendable ([UInt8]) async throws(BLEError) -> Void, end: @Sendable () -> Void
    )

    /// Opens a writer, or writes packet by packet if the system has none.
    private static func writing(
        to input: Characteristic<[UInt8]>, of peripheral: Peripheral
    ) async throws(BLEError) -> Writing {
        do throws(BLEError) {
            let writer = try await peripheral.packetWriter(to: input)
            return (
                writer.maximumLength, { (packet) throws(BLEError) in try await writer.write(packet) },
                { writer.close() }
            )
        } catch  where error.code == .notSupported {
            let length = (try? await peripheral.maximumWriteLength(for: .withoutResponse)) ?? 20
            return (
                length,
                { (packet) throws(BLEError) in
                    try await peripheral.writeBytes(
                        packet, to: input.key, type: .withoutResponse, timeout: nil, connecting: false)
                }, {}
            )
        }
    }
}
