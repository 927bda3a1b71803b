private let firmware: FirmwareImage = given()
