import BLE
import Testing
import Waiting

@testable import BLEBlueZ

@Suite struct DeviceTableTests {
    @Test(arguments: [
        "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5", "/org/bluez/hci10/dev_00_00_00_00_00_00",
        "/org/bluez/hci65535/dev_FF_FF_FF_FF_FF_FF",
    ])
    func `a path in bluetoothd's form is kept as a number`(_ text: String) throws {
        let path = try #require(DevicePath(text))
        #expect(path.text == text)
        #expect(path.id == Peripheral.ID(devicePath: text))
        #expect(path.id.rawValue == String(text.suffix(17)).replacing("_", with: ":"))
        #expect(DevicePath(path.id, adapter: String(text.dropLast("/dev_".count + 17))) == path)
    }

    @Test(arguments: [
        "", "/", "/org/bluez/hci0", "/org/bluez/hci/dev_F0_F1_F2_F3_F4_F5", "/org/bluez/hci00/dev_F0_F1_F2_F3_F4_F5",
        "/org/bluez/hci65536/dev_F0_F1_F2_F3_F4_F5", "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_f5",
        "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5/service0001", "/org/bluez/hci0/dev_F0_F1_F2_F3_F4",
        "/org/bluez/hcix/dev_F0_F1_F2_F3_F4_F5", "/org/other/hci0/dev_F0_F1_F2_F3_F4_F5",
        "/org/bluez/hci0/dev-F0_F1_F2_F3_F4_F5", "/org/bluez/hci0/dev_F0:F1:F2:F3:F4:F5",
    ])
    func `a device with a path of another form is known all the same`(_ path: String) {
        #expect(DevicePath(path) == nil)
        var table = DeviceTable()
        table.update(path) { $0.isPaired = true }
        #expect(table.count == 1 && table[path]?.isPaired == true)
        #expect(table.paths { $0.isPaired } == [path])
        #expect(table.compactMap { $0.isPaired } == [true])
        #expect(table.remove(path)?.isPaired == true)
        #expect(table.isEmpty && table[path] == nil)
    }

    @Test func `devices of several adapters do not meet`() {
        var table = DeviceTable()
        let paths = (0..<12).map { "/org/bluez/hci\($0)/dev_F0_F1_F2_F3_F4_F5" }
        for path in paths { table.update(path) { $0.adapter = String(path.dropLast(22)) } }
        #expect(table.count == 12)
        #expect(Set(table.paths { _ in true }) == Set(paths))
        for path in paths { #expect(table[path]?.adapter == String(path.dropLast(22))) }
        table.change(paths[3]) { $0.isConnected = true }
        table.change("/org/bluez/hci12/dev_F0_F1_F2_F3_F4_F5") { $0.isConnected = true }
        #expect(table.paths(where: \.isConnected) == [paths[3]])
    }

    @Test func `a device that was never connected takes little memory`() {
        // With the header of an array and of an allocation, 128 bytes each.
        #expect(MemoryLayout<ObjectTree.DeviceObject>.size <= 88)
        #expect(MemoryLayout<Advertisement>.size <= 10)
    }
}
