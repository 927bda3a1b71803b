import BLE
import BLEProfiles
import BLERecording
import BLESimulation
import BLETestSupport
import Foundation
import Testing

@Suite(.hangLimit) struct RedactionTests {
    private func recording() async throws -> Recording {
        let recorder = Recorder()
        let world = try await RecordedWorld(recorder)
        var definition = PeripheralDefinition.heartRateStrap(name: "Anna's Strap", batteryLevel: 77)
        definition.address = "F0:F1:F2:F3:F4:F5"
        let strap = await world.radio.add(definition)
        let peripheral = world.central.peripheral(strap.id)
        for try await found in world.central.discoveries() where found.peripheral.id == strap.id { break }
        _ = try await peripheral.read(.batteryLevel)
        _ = try? await peripheral.signalStrength()
        _ = try await peripheral.systemProperties()
        _ = try await world.central.adapters()
        await strap.dropLink()
        await world.central.shutDown()
        return recorder.recording
    }

    @Test func `addresses and names are nowhere, and what was equal is equal`() async throws {
        let recording = try await recording()
        let id = try #require(recording.entries.lazy.compactMap(\.peripheral).first)
        let redacted = recording.redacted([.addresses, .names])
        let text = String(decoding: redacted.lines, as: UTF8.self)
        #expect(!text.contains(id.rawValue) && !text.contains("Anna"))
        #expect(Set(redacted.entries.compactMap(\.peripheral)) == ["C0:00:00:00:00:01"])
        #expect(redacted.entries.count == recording.entries.count)
        #expect(redacted.header.redacted == [.addresses, .names])
        #expect(redacted.entries.contains { $0.value == [77] })
        // Two recordings of the same devices can still be compared.
        #expect(redacted.differences(from: recording.redacted([.addresses, .names])).isEmpty)
    }

    @Test func `an address in the text of an error is replaced in every form`() {
        let error = BLEError(
            .failed, "no answer of /org/bluez/hci0/dev_A4_C1_38_11_22_33, a4:c1:38:11:22:33 or A4-C1-38-11-22-34",
            cause: BLEError(.failed, "x", peripheral: "A4:C1:38:11:22:33"))
        let recording = Recording(
            Recording.Header(stack: "Test"),
            entries: [RecordedEntry(.linkEnded, peripheral: "A4:C1:38:11:22:33", error: error)])
        let found = recording.redacted(.addresses).entries[0].error
        #expect(
            found?.message
                == "no answer of /org/bluez/hci0/dev_C0:00:00:00:00:01, C0:00:00:00:00:01 or C0:00:00:00:00:02")
        #expect((found?.cause as? BLEError)?.peripheral == "C0:00:00:00:00:01")
    }

    @Test func `an address in a name is replaced, without a separator, too`() throws {
        let id: DeviceID = "A4:C1:38:11:22:33"
        var (advertisement, adapters) = (RecordedEntry(.advertisement, peripheral: id), RecordedEntry(.reply, call: 1))
        advertisement.advertisement = Advertisement(localName: "Strap a4c138112233 A4-C1-38-11-22-33")
        adapters.adapters = [
            Adapter(
                id: "hci0", address: "A4:C1:38:11:22:34", name: "desk (A4:C1:38:11:22:34)", isPowered: true,
                isDiscovering: false)
        ]
        let alias = RecordedEntry(.setAlias, call: 2, text: "desk A4:C1:38:11:22:34")
        let found = Recording(Recording.Header(stack: "Test"), entries: [advertisement, adapters, alias])
            .redacted(.addresses).entries
        #expect(found[0].advertisement?.localName == "Strap C0:00:00:00:00:01 C0:00:00:00:00:01")
        #expect(found[1].adapters?.first?.name == "desk (C0:00:00:00:00:02)")
        #expect(found[2].text == "desk C0:00:00:00:00:02")
    }

    @Test func `names in the errors of replies are replaced, and other texts stay`() {
        let id: DeviceID = "A4:C1:38:11:22:33"
        var (heard, adapters) = (RecordedEntry(.advertisement, peripheral: id), RecordedEntry(.reply, call: 1))
        heard.advertisement = Advertisement(localName: "Anna")
        var longer = heard
        longer.advertisement = Advertisement(localName: "Anna's Strap")
        adapters.adapters = [
            Adapter(id: "hci0", address: "A4:C1:38:11:22:34", name: "poweredOn", isPowered: true, isDiscovering: false)
        ]
        let found = Recording(
            Recording.Header(stack: "Test"),
            entries: [
                heard, longer, adapters, RecordedEntry(.connect, call: 2, peripheral: id),
                RecordedEntry(
                    .reply, call: 2, error: BLEError(.failed, "Anna's Strap is not Anna", remedy: "Ask Anna.")),
                RecordedEntry(.adapterState, text: "poweredOn"), RecordedEntry(.setAlias, call: 3, text: "poweredOn"),
                // A call that was given up says nothing of its peripheral.
                RecordedEntry(.connect, call: 4, peripheral: id), RecordedEntry(.cancel, call: 4),
                RecordedEntry(.reply, call: 4, error: BLEError(.failed, "Anna is gone")),
            ]
        ).redacted(.names).entries
        #expect(found[9].error?.message == "Name 1 is gone")
        #expect(found[4].error?.message == "Name 2 is not Name 1")
        #expect(found[4].error?.remedy == "Ask Name 1.")
        #expect(found[5].text == "poweredOn")
        #expect(found[6].text == "Name 3")
    }

    @Test func `a peripheral with a new name each time is redacted in a moment`() {
        let id: DeviceID = "A4:C1:38:11:22:33"
        let entries = (0..<20_000).flatMap { number in
            var heard = RecordedEntry(.advertisement, peripheral: id)
            heard.advertisement = Advertisement(localName: "Strap \(number)")
            return [
                heard, RecordedEntry(.linkEnded, peripheral: id, error: BLEError(.failed, "Strap \(number) is gone")),
            ]
        }
        let found = Recording(Recording.Header(stack: "Test"), entries: entries).redacted(.names).entries
        #expect(found.last?.error?.message == "Name 20000 is gone")
    }

    @Test func `values keep their lengths alone`() async throws {
        let redacted = try await recording().redacted(.values)
        let values = redacted.entries.compactMap(\.value)
        #expect(values.contains([0]) && values.allSatisfy { $0.allSatisfy { $0 == 0 } })
        #expect(redacted.entries.compactMap(\.advertisement).contains { $0.serviceData == [.battery: [0]] })
        #expect(redacted.entries.compactMap(\.advertisement).contains { $0.localName == "Anna's Strap" })
    }
}
